#pragma once

#include <immintrin.h>

#include <cstdint>

/// Sixteen floats in an AVX-512 register. Only for sources named *_avx512.cpp or *_avx512bf16.cpp.
///
/// load(p, n) and store(p, n) touch the first n <= kWidth elements only; the rest reads as zero.
/// load_bf16 and store_bf16 convert, rounding to nearest even; load_bf16_pairs parts 2 * kWidth
/// values into those at even and odd places, store_bf16_pairs joins them. max and min give their
/// second operand where one is NaN. scale_by_power(a, n) is a * 2^n for an integral n,
/// split_exponent(a, m) gives e and m in [1, 2) with |a| = m * 2^e. Mixed lanes never influence
/// each other, so a tail gives the same bits as a full register.
namespace tenon::vector_math {

#define TENON_VECTOR [[gnu::always_inline]] inline

struct F32x16 {
  static constexpr int kWidth = 16;
  using Mask = __mmask16;
  __m512 v;

  static Mask first(int n) { return static_cast<Mask>((1u << n) - 1); }
  TENON_VECTOR static F32x16 zero() { return {_mm512_setzero_ps()}; }
  TENON_VECTOR static F32x16 broadcast(float x) { return {_mm512_set1_ps(x)}; }
  TENON_VECTOR static F32x16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
  TENON_VECTOR static F32x16 load(const float* p, int n) {
    return {_mm512_maskz_loadu_ps(first(n), p)};
  }
  TENON_VECTOR static F32x16 from_bf16(__m256i bits) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
  }
  TENON_VECTOR static F32x16 load_bf16(const uint16_t* p) {
    return from_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  TENON_VECTOR static F32x16 load_bf16(const uint16_t* p, int n) {
    return from_bf16(_mm256_maskz_loadu_epi16(first(n), p));
  }
  TENON_VECTOR static void load_bf16_pairs(const uint16_t* p, F32x16& even, F32x16& odd) {
    const __m512i pairs = _mm512_loadu_si512(p);
    even = {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16))};
    odd = {_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536)))};
  }
  TENON_VECTOR void store(float* p) const { _mm512_storeu_ps(p, v); }
  TENON_VECTOR void store(float* p, int n) const { _mm512_mask_storeu_ps(p, first(n), v); }
  TENON_VECTOR __m256i to_bf16() const {
#ifdef __AVX512BF16__
    return (__m256i)_mm512_cvtneps_pbh(v);
#else
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const Mask nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_mov_epi32(rounded, nan, _mm512_set1_epi32(0x7fc00000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
#endif
  }
  TENON_VECTOR void store_bf16(uint16_t* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bf16());
  }
  TENON_VECTOR void store_bf16(uint16_t* p, int n) const {
    _mm256_mask_storeu_epi16(p, first(n), to_bf16());
  }
  TENON_VECTOR static void store_bf16_pairs(uint16_t* p, F32x16 even, F32x16 odd) {
#ifdef __AVX512BF16__
    const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(odd.v, even.v);
    const __m512i place = _mm512_set_epi32(
        0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009, 0x180008, 0x170007,
        0x160006, 0x150005, 0x140004, 0x130003, 0x120002, 0x110001, 0x100000);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi16(place, halves));
#else
    const __m512i low = _mm512_cvtepu16_epi32(even.to_bf16());
    const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd.to_bf16()), 16);
    _mm512_storeu_si512(p, _mm512_or_si512(low, high));
#endif
  }

  TENON_VECTOR friend F32x16 operator+(F32x16 a, F32x16 b) {
    return {_mm512_add_ps(a.v, b.v)};
  }
  TENON_VECTOR friend F32x16 operator-(F32x16 a, F32x16 b) {
    return {_mm512_sub_ps(a.v, b.v)};
  }
  TENON_VECTOR friend F32x16 operator*(F32x16 a, F32x16 b) {
    return {_mm512_mul_ps(a.v, b.v)};
  }
  TENON_VECTOR friend F32x16 operator/(F32x16 a, F32x16 b) {
    return {_mm512_div_ps(a.v, b.v)};
  }
  TENON_VECTOR friend Mask operator<(F32x16 a, F32x16 b) {
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ);
  }
  TENON_VECTOR friend Mask is_nan(F32x16 a) {
    return _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  }
  TENON_VECTOR friend F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  }
  TENON_VECTOR friend F32x16 max(F32x16 a, F32x16 b) {
    return {_mm512_max_ps(a.v, b.v)};
  }
  TENON_VECTOR friend F32x16 min(F32x16 a, F32x16 b) {
    return {_mm512_min_ps(a.v, b.v)};
  }
  TENON_VECTOR friend F32x16 abs(F32x16 a) {
    return {_mm512_abs_ps(a.v)};
  }
  TENON_VECTOR friend F32x16 sqrt(F32x16 a) {
    return {_mm512_sqrt_ps(a.v)};
  }
  TENON_VECTOR friend F32x16 round(F32x16 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  TENON_VECTOR friend F32x16 copysign(F32x16 a, F32x16 s) {
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);  // 0xca: (sign bit ? s : a)
    return {_mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(sign, _mm512_castps_si512(s.v), _mm512_castps_si512(a.v), 0xca))};
  }
  TENON_VECTOR friend F32x16 select(Mask m, F32x16 yes, F32x16 no) {
    return {_mm512_mask_blend_ps(m, no.v, yes.v)};
  }
  TENON_VECTOR friend F32x16 scale_by_power(F32x16 a, F32x16 n) {
    return {_mm512_scalef_ps(a.v, n.v)};
  }
  TENON_VECTOR friend F32x16 split_exponent(F32x16 a, F32x16& mantissa) {
    mantissa = {_mm512_getmant_ps(a.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero)};
    return {_mm512_getexp_ps(a.v)};
  }
  TENON_VECTOR friend float sum(F32x16 a) {
    return _mm512_reduce_add_ps(a.v);
  }
  TENON_VECTOR friend float maximum(F32x16 a) {
    return _mm512_reduce_max_ps(a.v);
  }
  /// rows[i] lane j becomes rows[j] lane i.
  TENON_VECTOR static void transpose(F32x16 (&rows)[16]) {
    __m512 a[16], b[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
      a[i] = _mm512_unpacklo_ps(rows[i].v, rows[i + 1].v);
      a[i + 1] = _mm512_unpackhi_ps(rows[i].v, rows[i + 1].v);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        b[i + 2 * j] = _mm512_shuffle_ps(a[i + j], a[i + j + 2], 0x44);
        b[i + 2 * j + 1] = _mm512_shuffle_ps(a[i + j], a[i + j + 2], 0xee);
      }
      // Now quarter q of b[4 * g + i] holds column 4 * q + i of rows 4 * g to 4 * g + 3.
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512 low = _mm512_shuffle_f32x4(b[i], b[i + 4], 0x44),
                   high = _mm512_shuffle_f32x4(b[i], b[i + 4], 0xee),
                   low2 = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0x44),
                   high2 = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0xee);
      rows[i].v = _mm512_shuffle_f32x4(low, low2, 0x88);
      rows[i + 4].v = _mm512_shuffle_f32x4(low, low2, 0xdd);
      rows[i + 8].v = _mm512_shuffle_f32x4(high, high2, 0x88);
      rows[i + 12].v = _mm512_shuffle_f32x4(high, high2, 0xdd);
    }
  }
};

#undef TENON_VECTOR

}  // namespace tenon::vector_math
