#pragma once

#include <algorithm>

#include "kernels/resize/resize.h"

/// Inner loops of interpolation over a vector type V of kernels/vector_math.
namespace tenon::cpu {
namespace {

template <class V>
[[gnu::always_inline]] inline V load(const float* p, int n) {
  return n == V::kWidth ? V::load(p) : V::load(p, n);
}
template <class V>
[[gnu::always_inline]] inline V load(const uint16_t* p, int n) {
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

}  // namespace
}  // namespace tenon::cpu
