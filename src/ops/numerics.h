#pragma once

#include <span>
#include <string>

#include "ir/tensor.h"

namespace tenon {

/// The kind of comparison: the first column of ops/numerics.def.
enum class Computation : uint8_t { kReference, kKernel, kTf32, kTransform, kAgreement, kNetwork };

/// Allowed error of a result: |actual - expected| <= relative * |expected| + spread * the root mean
/// square of all expected values, for each element, and the norm of the difference <= norm * the
/// norm of the expected values.
struct Tolerance {
  double relative = 0, spread = 0, norm = 0;
};

/// The row of ops/numerics.def.
Tolerance tolerance(Computation computation, DataType type);
/// The larger of each.
Tolerance wider(const Tolerance& a, const Tolerance& b);

/// Result of a comparison.
struct Deviation {
  double norm = 0;        ///< Norm of the difference over the norm of the expected values.
  double norm_limit = 0;  ///< The largest allowed value of that.
  double excess = 0;      ///< The largest difference of an element over its allowed value.
  int64_t element = -1;   ///< The element with the largest excess; -1: all are equal.
  double actual = 0, expected = 0;  ///< Of that element.
  int64_t overflows = 0;            ///< Elements that are not finite, where the expected ones are.

  bool agrees() const { return norm <= norm_limit && excess <= 1; }
  /// "distance 0.3, limit 0.001", or "element 17 is 3 instead of 2", whichever is worse.
  std::string describe() const;
};

/// Share of numbers that jumps may move: nearly equal ones change places, and values beside a
/// threshold fall to the other side.
inline constexpr double kJumpShare = 0.02;

/// Compares numbers. `rounded`, where it is not empty, are other right results, which show the
/// effect of rounding here: differences from `expected` up to a small multiple of theirs are
/// allowed as well. Infinities and NaN must be those of one of the two. `jumps`: where the
/// computation has thresholds (quantization, comparisons), a few may be off by as much as the
/// largest of those.
Deviation compare_numbers(std::span<const double> actual, std::span<const double> expected,
                          std::span<const double> rounded, const Tolerance& tolerance,
                          bool jumps = false);
Deviation compare_numbers(std::span<const float> actual, std::span<const float> expected,
                          const Tolerance& tolerance);

/// The same for tensors of real types, which may differ in type; other extents never agree. Numbers
/// of f32, bf16 and f64 above half of the largest one may be infinite of the same sign in one of
/// the two.
Deviation compare_tensors(const Tensor& actual, const Tensor& expected, const Tensor* rounded,
                          const Tolerance& tolerance, bool jumps = false);

}  // namespace tenon
