#pragma once

#include "kernels/vector_math/vector_generic.h"

/// The interface of bytes_avx512.h over one float.
namespace tenon::vector_math {

struct BytesOfF32x1 {
  using Vector = F32x1;
  static Vector from_i32(const int32_t* p) { return {static_cast<float>(*p)}; }
  static Vector from_i8(const int8_t* p) { return {static_cast<float>(*p)}; }
  static Vector from_u8(const uint8_t* p) { return {static_cast<float>(*p)}; }
  static void from_nibbles(const uint8_t* p, float zero, Vector& low, Vector& high) {
    low = {static_cast<float>(*p & 15) - zero}, high = {static_cast<float>(*p >> 4) - zero};
  }
  static void store(uint8_t* p, Vector x, Vector zero) {
    *p = static_cast<uint8_t>(static_cast<int32_t>(round(x).v + zero.v));
  }
  static Vector at_order(Vector test, Vector x, Vector otherwise) {
    return test.v == test.v ? x : otherwise;
  }
};

}  // namespace tenon::vector_math
