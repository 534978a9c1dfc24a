#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tenon::cpu {
namespace {

struct Vnni {
  static constexpr int kWidth = 16;
  using Vector = __m512i;
  using Weights = __m512i;
  [[gnu::always_inline]] static Vector load(const int32_t* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static void store(int32_t* p, Vector v) { _mm512_storeu_si512(p, v); }
  [[gnu::always_inline]] static Weights weights(const int8_t* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static Vector broadcast(uint32_t bytes) {
    return _mm512_set1_epi32(static_cast<int>(bytes));
  }
  [[gnu::always_inline]] static Vector flipped(Vector x, Vector flip) {
    return _mm512_xor_si512(x, flip);
  }
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, Vector x, Weights w) {
    return _mm512_dpbusd_epi32(sum, x, w);
  }
};

}  // namespace
}  // namespace tenon::cpu
