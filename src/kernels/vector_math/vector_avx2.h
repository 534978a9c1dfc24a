#pragma once

#include <immintrin.h>

#include <cstdint>

/// The interface of vector_avx512.h over eight floats in an AVX2 register. Only for sources named
/// *_avx2.cpp.
namespace tenon::vector_math {

#define TENON_VECTOR [[gnu::always_inline]] inline

struct F32x8 {
  static constexpr int kWidth = 8;
  struct Mask {
    __m256 v;
  };
  __m256 v;

  TENON_VECTOR static __m256i first(int n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane);
  }
  TENON_VECTOR static F32x8 zero() { return {_mm256_setzero_ps()}; }
  TENON_VECTOR static F32x8 broadcast(float x) { return {_mm256_set1_ps(x)}; }
  TENON_VECTOR static F32x8 load(const float* p) { return {_mm256_loadu_ps(p)}; }
  TENON_VECTOR static F32x8 load(const float* p, int n) {
    return {_mm256_maskload_ps(p, first(n))};
  }
  TENON_VECTOR static F32x8 load_bf16(const uint16_t* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
  }
  TENON_VECTOR static F32x8 load_bf16(const uint16_t* p, int n) {
    if (n >= kWidth) return load_bf16(p);
    uint16_t full[kWidth] = {};
    for (int i = 0; i < n; ++i) full[i] = p[i];
    return load_bf16(full);
  }
  TENON_VECTOR static void load_bf16_pairs(const uint16_t* p, F32x8& even, F32x8& odd) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    even = {_mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16))};
    odd = {_mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)))};
  }
  TENON_VECTOR void store(float* p) const { _mm256_storeu_ps(p, v); }
  TENON_VECTOR void store(float* p, int n) const { _mm256_maskstore_ps(p, first(n), v); }
  TENON_VECTOR void store_bf16(uint16_t* p) const {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    rounded = _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(rounded), _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), nan));
    const __m256i high = _mm256_srli_epi32(rounded, 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  }
  TENON_VECTOR void store_bf16(uint16_t* p, int n) const {
    uint16_t full[kWidth];
    store_bf16(full);
    for (int i = 0; i < n && i < kWidth; ++i) p[i] = full[i];
  }
  TENON_VECTOR static void store_bf16_pairs(uint16_t* p, F32x8 even, F32x8 odd) {
    uint16_t halves[2][kWidth];
    even.store_bf16(halves[0]), odd.store_bf16(halves[1]);
    for (int i = 0; i < 2 * kWidth; ++i) p[i] = halves[i % 2][i / 2];
  }

  TENON_VECTOR friend F32x8 operator+(F32x8 a, F32x8 b) { return {_mm256_add_ps(a.v, b.v)}; }
  TENON_VECTOR friend F32x8 operator-(F32x8 a, F32x8 b) { return {_mm256_sub_ps(a.v, b.v)}; }
  TENON_VECTOR friend F32x8 operator*(F32x8 a, F32x8 b) { return {_mm256_mul_ps(a.v, b.v)}; }
  TENON_VECTOR friend F32x8 operator/(F32x8 a, F32x8 b) { return {_mm256_div_ps(a.v, b.v)}; }
  TENON_VECTOR friend Mask operator<(F32x8 a, F32x8 b) {
    return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)};
  }
  TENON_VECTOR friend Mask is_nan(F32x8 a) { return {_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)}; }
  TENON_VECTOR friend F32x8 fma(F32x8 a, F32x8 b, F32x8 c) {
    return {_mm256_fmadd_ps(a.v, b.v, c.v)};
  }
  TENON_VECTOR friend F32x8 max(F32x8 a, F32x8 b) { return {_mm256_max_ps(a.v, b.v)}; }
  TENON_VECTOR friend F32x8 min(F32x8 a, F32x8 b) { return {_mm256_min_ps(a.v, b.v)}; }
  TENON_VECTOR friend F32x8 abs(F32x8 a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
  TENON_VECTOR friend F32x8 sqrt(F32x8 a) { return {_mm256_sqrt_ps(a.v)}; }
  TENON_VECTOR friend F32x8 round(F32x8 a) {
    return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  TENON_VECTOR friend F32x8 copysign(F32x8 a, F32x8 s) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_or_ps(_mm256_and_ps(sign, s.v), _mm256_andnot_ps(sign, a.v))};
  }
  TENON_VECTOR friend F32x8 select(Mask m, F32x8 yes, F32x8 no) {
    return {_mm256_blendv_ps(no.v, yes.v, m.v)};
  }
  // Two factors, each a power that a float can hold: covers subnormal results and n up to 128 and
  // more.
  TENON_VECTOR friend F32x8 scale_by_power(F32x8 a, F32x8 n) {
    const __m256i power = _mm256_cvtps_epi32(n.v);
    const __m256i half = _mm256_srai_epi32(power, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i low = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i high =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(power, half), bias), 23);
    return {_mm256_mul_ps(_mm256_mul_ps(a.v, _mm256_castsi256_ps(low)), _mm256_castsi256_ps(high))};
  }
  TENON_VECTOR friend F32x8 split_exponent(F32x8 a, F32x8& mantissa) {
    // Subnormals are scaled into the normal range first.
    const __m256 tiny = _mm256_cmp_ps(a.v, _mm256_set1_ps(1.17549435e-38f), _CMP_LT_OQ);
    const __m256 scaled =
        _mm256_blendv_ps(a.v, _mm256_mul_ps(a.v, _mm256_set1_ps(8388608.0f)), tiny);
    const __m256i bits = _mm256_castps_si256(scaled);
    const __m256i fraction = _mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff));
    mantissa = {_mm256_castsi256_ps(_mm256_or_si256(fraction, _mm256_set1_epi32(0x3f800000)))};
    const __m256i biased = _mm256_and_si256(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(0xff));
    const __m256 e = _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
    return {_mm256_sub_ps(e, _mm256_and_ps(tiny, _mm256_set1_ps(23.0f)))};
  }
  TENON_VECTOR friend float sum(F32x8 a) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  TENON_VECTOR friend float maximum(F32x8 a) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  /// rows[i] lane j becomes rows[j] lane i.
  TENON_VECTOR static void transpose(F32x8 (&rows)[8]) {
    __m256 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
      a[i] = _mm256_unpacklo_ps(rows[i].v, rows[i + 1].v);
      a[i + 1] = _mm256_unpackhi_ps(rows[i].v, rows[i + 1].v);
    }
    for (int i = 0; i < 8; i += 4)
      for (int j = 0; j < 2; ++j) {
        b[i + 2 * j] = _mm256_shuffle_ps(a[i + j], a[i + j + 2], 0x44);
        b[i + 2 * j + 1] = _mm256_shuffle_ps(a[i + j], a[i + j + 2], 0xee);
      }
    for (int i = 0; i < 4; ++i) {
      rows[i].v = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
      rows[i + 4].v = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
  }
};

#undef TENON_VECTOR

}  // namespace tenon::vector_math
