#pragma once

#include "kernels/vector_math/byte_limits.h"
#include "kernels/vector_math/vector_generic.h"

/// The interface of bytes_avx512.h over one float.
namespace tenon::vector_math {

struct BytesOfF32x1 {
  using Vector = F32x1;
  static constexpr int kRow = 32;
  static Vector from_i32(const int32_t* p) { return {static_cast<float>(*p)}; }
  static Vector from_i8(const int8_t* p) { return {static_cast<float>(*p)}; }
  static Vector from_u8(const uint8_t* p) { return {static_cast<float>(*p)}; }
  static void from_nibbles(const uint8_t* p, float zero, Vector& low, Vector& high) {
    low = {static_cast<float>(*p & 15) - zero}, high = {static_cast<float>(*p >> 4) - zero};
  }
  static void store(uint8_t* p, Vector x, Vector zero) {
    *p = static_cast<uint8_t>(static_cast<int32_t>(round(x).v + zero.v));
  }
  using Limits = ByteLimits;
  template <bool kOfType>
  static void store_rows(uint8_t* first, uint8_t* second, const Vector (&x)[2][kRow],
                         const Limits& l) {
    const Vector large = {ByteLimits::kLarge}, lowest = {-ByteLimits::kLarge};
    for (int row = 0; row < 2; ++row)
      for (int i = 0; i < kRow; ++i) {
        const float whole = round(min(max(x[row][i], lowest), large)).v;
        (row == 0 ? first : second)[i] =
            static_cast<uint8_t>(std::clamp(static_cast<int>(whole) + l.zero, l.low, l.high));
      }
  }
  static Vector at_order(Vector test, Vector x, Vector otherwise) {
    return test.v == test.v ? x : otherwise;
  }
};

}  // namespace tenon::vector_math
