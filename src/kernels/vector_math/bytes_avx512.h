#pragma once

#include "kernels/vector_math/byte_limits.h"
#include "kernels/vector_math/vector_avx512.h"

/// Conversions between bytes, 32-bit integers and vectors of floats. store() rounds to the nearest
/// integer, ties to even, and adds `zero`, which is one: the sums fit the type. at_order(test, x,
/// otherwise) is `otherwise` where `test` is no number. from_nibbles() takes the lower and the
/// upper halves of the bytes, less `zero`. store_rows() stores two rows of kRow numbers: rounded
/// to the nearest integer, ties to even, `zero` added, and held between the lowest and the highest
/// byte; no number is the lowest. kOfType: the limits say are_of_type().
namespace tenon::vector_math {

struct BytesOfF32x16 {
  using Vector = F32x16;
  static constexpr int kRow = 32;
  [[gnu::always_inline]] static Vector from_i32(const int32_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_loadu_si512(p))};
  }
  [[gnu::always_inline]] static __m128i load(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  [[gnu::always_inline]] static Vector from_i8(const int8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load(p)))};
  }
  [[gnu::always_inline]] static Vector from_u8(const uint8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load(p)))};
  }
  [[gnu::always_inline]] static void from_nibbles(const uint8_t* p, float zero, Vector& low,
                                                  Vector& high) {
    const __m512 levels = _mm512_sub_ps(
        _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_ps(zero));
    // The choice of a level looks at the lowest four bits alone.
    const __m512i bytes = _mm512_cvtepu8_epi32(load(p));
    low = {_mm512_permutexvar_ps(bytes, levels)};
    high = {_mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), levels)};
  }
  [[gnu::always_inline]] static void store(uint8_t* p, Vector x, Vector zero) {
    const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(x.v), _mm512_cvtps_epi32(zero.v));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(whole));
  }
  /// Signed bytes are 128 higher until they are stored.
  struct Limits {
    bool is_plain;  ///< Unsigned, and the zero point is 0.
    __m512i zero, low, high, flip;
    Limits(const ByteLimits& l)
        : is_plain(!l.is_signed && l.zero == 0),
          zero(_mm512_set1_epi16(static_cast<int16_t>(l.zero + l.offset()))),
          low(_mm512_set1_epi8(static_cast<char>(l.low + l.offset()))),
          high(_mm512_set1_epi8(static_cast<char>(l.high + l.offset()))),
          flip(_mm512_set1_epi8(static_cast<char>(l.offset()))) {}
  };
  /// Numbers of 16 bits. Too large ones would become the lowest integer.
  template <bool kOfType> [[gnu::always_inline]] static __m512i shortened(const Vector (&x)[2]) {
    const auto rounded = [](Vector v) {
      const __m512 large = _mm512_set1_ps(ByteLimits::kLarge);
      return _mm512_cvtps_epi32(kOfType ? v.v : _mm512_min_ps(large, v.v));
    };
    return _mm512_packs_epi32(rounded(x[0]), rounded(x[1]));
  }
  template <bool kOfType>
  [[gnu::always_inline]] static void store_rows(uint8_t* first, uint8_t* second,
                                                const Vector (&x)[2][2], const Limits& l) {
    __m512i a = shortened<kOfType>(x[0]), b = shortened<kOfType>(x[1]);
    if (!l.is_plain) a = _mm512_adds_epi16(a, l.zero), b = _mm512_adds_epi16(b, l.zero);
    __m512i bytes = _mm512_packus_epi16(a, b);
    if constexpr (!kOfType) bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, l.low), l.high);
    if (!l.is_plain) bytes = _mm512_xor_si512(bytes, l.flip);
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    bytes = _mm512_permutexvar_epi32(order, bytes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(first), _mm512_castsi512_si256(bytes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(second), _mm512_extracti64x4_epi64(bytes, 1));
  }
  [[gnu::always_inline]] static Vector at_order(Vector test, Vector x, Vector otherwise) {
    return select(_mm512_cmp_ps_mask(test.v, test.v, _CMP_ORD_Q), x, otherwise);
  }
};

}  // namespace tenon::vector_math
