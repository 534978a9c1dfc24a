#pragma once

#include "kernels/vector_math/byte_limits.h"
#include "kernels/vector_math/vector_avx2.h"

/// The interface of bytes_avx512.h over eight floats.
namespace tenon::vector_math {

struct BytesOfF32x8 {
  using Vector = F32x8;
  static constexpr int kRow = 32;
  [[gnu::always_inline]] static Vector from_i32(const int32_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  [[gnu::always_inline]] static __m128i load(const void* p) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(p));
  }
  [[gnu::always_inline]] static Vector from_i8(const int8_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load(p)))};
  }
  [[gnu::always_inline]] static Vector from_u8(const uint8_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(load(p)))};
  }
  [[gnu::always_inline]] static void from_nibbles(const uint8_t* p, float zero, Vector& low,
                                                  Vector& high) {
    const __m256i bytes = _mm256_cvtepu8_epi32(load(p));
    const __m256 at_zero = _mm256_set1_ps(zero);
    low = {
        _mm256_sub_ps(_mm256_cvtepi32_ps(_mm256_and_si256(bytes, _mm256_set1_epi32(15))), at_zero)};
    high = {_mm256_sub_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(bytes, 4)), at_zero)};
  }
  [[gnu::always_inline]] static void store(uint8_t* p, Vector x, Vector zero) {
    const __m256i sum = _mm256_add_epi32(_mm256_cvtps_epi32(x.v), _mm256_cvtps_epi32(zero.v));
    const __m256i whole = _mm256_and_si256(sum, _mm256_set1_epi32(0xff));
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  struct Limits {
    __m256i zero, low, high, flip;
    Limits(const ByteLimits& l)
        : zero(_mm256_set1_epi16(static_cast<int16_t>(l.zero + l.offset()))),
          low(_mm256_set1_epi8(static_cast<char>(l.low + l.offset()))),
          high(_mm256_set1_epi8(static_cast<char>(l.high + l.offset()))),
          flip(_mm256_set1_epi8(static_cast<char>(l.offset()))) {}
  };
  template <bool kOfType>
  [[gnu::always_inline]] static __m256i shortened(Vector a, Vector b, const Limits& l) {
    const auto rounded = [](Vector v) {
      const __m256 large = _mm256_set1_ps(ByteLimits::kLarge);
      return _mm256_cvtps_epi32(kOfType ? v.v : _mm256_min_ps(large, v.v));
    };
    return _mm256_adds_epi16(_mm256_packs_epi32(rounded(a), rounded(b)), l.zero);
  }
  template <bool kOfType>
  [[gnu::always_inline]] static void store_row(uint8_t* p, const Vector (&x)[4], const Limits& l) {
    __m256i bytes =
        _mm256_packus_epi16(shortened<kOfType>(x[0], x[1], l), shortened<kOfType>(x[2], x[3], l));
    if constexpr (!kOfType) bytes = _mm256_min_epu8(_mm256_max_epu8(bytes, l.low), l.high);
    bytes = _mm256_permutevar8x32_epi32(_mm256_xor_si256(bytes, l.flip),
                                        _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bytes);
  }
  template <bool kOfType>
  [[gnu::always_inline]] static void store_rows(uint8_t* first, uint8_t* second,
                                                const Vector (&x)[2][4], const Limits& l) {
    store_row<kOfType>(first, x[0], l);
    store_row<kOfType>(second, x[1], l);
  }
  [[gnu::always_inline]] static Vector at_order(Vector test, Vector x, Vector otherwise) {
    return {_mm256_blendv_ps(otherwise.v, x.v, _mm256_cmp_ps(test.v, test.v, _CMP_ORD_Q))};
  }
};

}  // namespace tenon::vector_math
