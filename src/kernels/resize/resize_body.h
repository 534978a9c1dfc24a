#pragma once

#include <algorithm>

#include "kernels/resize/resize.h"

/// Inner loops of interpolation over a vector type V of kernels/vector_math.
namespace tenon::cpu {
namespace {

template <class V> [[gnu::always_inline]] inline V load(const float* p, int n) {
  return n == V::kWidth ? V::load(p) : V::load(p, n);
}
template <class V> [[gnu::always_inline]] inline V load(const uint16_t* p, int n) {
  return n == V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
}

template <class V, class T>
void combine_rows(const T* x, const ResizeWeight* weights, int64_t count, int64_t n, void* to,
                  ElementType to_type) {
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int lanes = static_cast<int>(std::min<int64_t>(V::kWidth, n - i));
    V sum = V::zero();
    for (int64_t k = 0; k < count; ++k)
      sum = fma(V::broadcast(weights[k].weight), load<V>(x + weights[k].offset + i, lanes), sum);
    if (to_type == ElementType::f32)
      sum.store(static_cast<float*>(to) + i, lanes);
    else
      sum.store_bf16(static_cast<uint16_t*>(to) + i, lanes);
  }
}

template <class V>
void combine(ElementType type, const void* x, const ResizeWeight* weights, int64_t count, int64_t n,
             void* to, ElementType to_type) {
  if (type == ElementType::f32)
    combine_rows<V>(static_cast<const float*>(x), weights, count, n, to, to_type);
  else
    combine_rows<V>(static_cast<const uint16_t*>(x), weights, count, n, to, to_type);
}

/// p[places[i]] for each lane; places are below 2 * kWidth, and all of these may be read.
template <class V> V pick(const float* p, const int32_t* places) {
  static_assert(V::kWidth == 1, "other instruction sets have a function of their own");
  return V::broadcast(p[*places]);
}
#if defined(__AVX512F__)
template <> vector_math::F32x16 pick(const float* p, const int32_t* places) {
  return {_mm512_permutex2var_ps(_mm512_loadu_ps(p), _mm512_loadu_si512(places),
                                 _mm512_loadu_ps(p + 16))};
}
#elif defined(__AVX2__)
template <> vector_math::F32x8 pick(const float* p, const int32_t* places) {
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places));
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), at);
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p + 8), at);
  return {_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)))};
}
#endif

template <class V>
void spread(const ResizeSpread& s, int64_t n, const float* line, void* to, ElementType to_type) {
  const int32_t* places = s.places.data();
  const float* weights = s.weights.data();
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const float* from = line + s.first[static_cast<size_t>(i / V::kWidth)];
    V sum = V::zero();
    for (int k = 0; k < s.taps; ++k, places += V::kWidth, weights += V::kWidth)
      sum = fma(V::load(weights), pick<V>(from, places), sum);
    const int lanes = static_cast<int>(std::min<int64_t>(V::kWidth, n - i));
    if (to_type == ElementType::f32)
      sum.store(static_cast<float*>(to) + i, lanes);
    else
      sum.store_bf16(static_cast<uint16_t*>(to) + i, lanes);
  }
}

}  // namespace
}  // namespace tenon::cpu
