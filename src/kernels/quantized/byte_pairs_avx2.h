#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tenon::cpu {
namespace {

/// Without products of bytes that do not saturate: even and odd bytes as 16-bit numbers.
struct Pairs {
  static constexpr int kWidth = 8;
  using Vector = __m256i;
  struct Weights {
    __m256i even, odd;
  };
  [[gnu::always_inline]] static Vector load(const int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static void store(int32_t* p, Vector v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  [[gnu::always_inline]] static Weights weights(const int8_t* p) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
  }
  [[gnu::always_inline]] static Vector broadcast(uint32_t bytes) {
    return _mm256_set1_epi32(static_cast<int>(bytes));
  }
  [[gnu::always_inline]] static Vector flipped(Vector x, Vector flip) {
    return _mm256_xor_si256(x, flip);
  }
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, Vector x, Weights w) {
    const __m256i even = _mm256_and_si256(x, _mm256_set1_epi16(0x00ff));
    const __m256i odd = _mm256_srli_epi16(x, 8);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(even, w.even));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(odd, w.odd));
  }
};

}  // namespace
}  // namespace tenon::cpu
