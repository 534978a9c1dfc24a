#pragma once

#include <optional>
#include <vector>

#include "kernels/region.h"
#include "kernels/rows/rows.h"

namespace tenon {
struct Normalization;
}

namespace tenon::cpu {

/// The epilogue of a region as unary functions; nothing when a step has an operand.
std::optional<UnarySteps> unary_steps(const AnchoredRegion& region);

/// f32 or bf16 throughout.
bool is_vector_type(DataType type);

/// A region around a normalization over rows, or over the pixels of channels, that meets what all
/// kernels require of types, outputs and epilogue.
Result<AnchoredRegion> normalization_region(const Problem& problem, bool over_rows);

/// A constant or run-time vector of f32 or bf16 as floats.
std::vector<float> to_floats(ElementType type, const void* values, int64_t count);

/// Rounded to nearest even; NaN stays one.
inline uint16_t to_bf16(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline const char* advance(const void* base, int64_t elements, ElementType type) {
  return static_cast<const char*>(base) + elements * element_size(type);
}
inline char* advance(void* base, int64_t elements, ElementType type) {
  return static_cast<char*>(base) + elements * element_size(type);
}

}  // namespace tenon::cpu
