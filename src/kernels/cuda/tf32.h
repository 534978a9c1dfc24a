#pragma once

#include <bit>
#include <cstdint>

#include "ir/tensor.h"

namespace tenon::cuda {

/// The nearest number of 10 bits of mantissa, that with an even last bit of two. Tensor cores cut
/// the rest of f32 operands off, which makes every product a little smaller: operands that are
/// rounded before have no such bias.
inline float rounded_to_tf32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  constexpr uint32_t kExponent = 0x7f800000, kCut = 0x1fff;
  if ((bits & kExponent) == kExponent) return value;
  const uint32_t rounded = (bits + (kCut >> 1) + (bits >> 13 & 1)) & ~kCut;
  // The largest numbers stay finite.
  return std::bit_cast<float>((rounded & kExponent) == kExponent ? bits & ~kCut : rounded);
}

inline Tensor rounded_to_tf32(const Tensor& tensor) {
  Tensor result(tensor.type(), tensor.extents());
  const auto from = tensor.values<float>();
  const auto to = result.mutable_values<float>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = rounded_to_tf32(from[i]);
  return result;
}

}  // namespace tenon::cuda
