#pragma once

#include <algorithm>
#include <cmath>

namespace tenon::vector_math {

/// Bytes that numbers are stored as: the nearest integer and `zero`, between `low` and `high`.
struct ByteLimits {
  /// Above any byte, and an integer of 32 bits.
  static constexpr float kLarge = 1e9f;

  int zero = 0, low = 0, high = 255;
  bool is_signed = false;
  bool is_bounded = false;  ///< No number is above kLarge, and each is one.

  /// `lowest` and `highest` hold before the zero point is added.
  static ByteLimits of(float zero, float lowest, float highest, bool is_signed,
                       bool is_bounded = false) {
    ByteLimits limits{static_cast<int>(zero), 0, 0, is_signed, is_bounded};
    const int first = is_signed ? -128 : 0;
    const auto byte = [&](float x) {
      return std::clamp(static_cast<int>(std::nearbyint(x)) + limits.zero, first, first + 255);
    };
    limits.low = byte(lowest), limits.high = byte(highest);
    return limits;
  }
  int offset() const { return is_signed ? 128 : 0; }
  /// Conversions that saturate do all that is to be done.
  bool are_of_type() const { return is_bounded && high - low == 255; }
};

}  // namespace tenon::vector_math
