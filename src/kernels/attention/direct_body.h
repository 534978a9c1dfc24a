#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/attention/direct.h"

/// Over a vector type V of kernels/vector_math.
namespace tenon::cpu::attention_detail {

template <class V> struct Direct {
  static constexpr int kKeys = 4;     ///< Whose sums run side by side.
  static constexpr int kVectors = 4;  ///< Of a value at a time.

  template <class T> static V load(const T* row, int64_t at, int64_t size) {
    const int lanes = static_cast<int>(std::min<int64_t>(size - at, V::kWidth));
    if constexpr (std::is_same_v<T, float>)
      return lanes == V::kWidth ? V::load(row + at) : V::load(row + at, lanes);
    else
      return lanes == V::kWidth ? V::load_bf16(row + at) : V::load_bf16(row + at, lanes);
  }

  /// Calls body(rows) with the rows in their type.
  template <class Body> static void with_type(const DirectRows& rows, const Body& body) {
    if (rows.bf16)
      body(static_cast<const uint16_t*>(rows.rows));
    else
      body(static_cast<const float*>(rows.rows));
  }

  static void widen(const DirectRows& row, float* to) {
    with_type(row, [&](const auto* from) {
      for (int64_t e = 0; e < row.size; e += V::kWidth) load(from, e, row.size).store(to + e);
    });
  }

  template <int kCount, class T>
  static void some_scores(const float* query, const T* row, int64_t stride, int64_t size,
                          float* scores) {
    V sums[kCount];
    for (V& sum : sums) sum = V::zero();
    for (int64_t e = 0; e < size; e += V::kWidth) {
      const V x = V::load(query + e);
#pragma GCC unroll 4
      for (int k = 0; k < kCount; ++k) sums[k] = fma(x, load(row + k * stride, e, size), sums[k]);
    }
    for (int k = 0; k < kCount; ++k) scores[k] = sum(sums[k]);
  }

  static void score(const float* query, const DirectRows& keys, float* scores) {
    with_type(keys, [&](const auto* row) {
      int64_t k = 0;
      for (; k + kKeys <= keys.count; k += kKeys)
        some_scores<kKeys>(query, row + k * keys.stride, keys.stride, keys.size, scores + k);
      for (; k < keys.count; ++k)
        some_scores<1>(query, row + k * keys.stride, keys.stride, keys.size, scores + k);
    });
  }

  template <int kCount, class T>
  static void add_some(const float* weights, const T* row, const DirectRows& values, int64_t first,
                       float* sums) {
    V own[kCount];
    for (int i = 0; i < kCount; ++i) own[i] = V::load(sums + first + i * V::kWidth);
    for (int64_t k = 0; k < values.count; ++k, row += values.stride) {
      const V weight = V::broadcast(weights[k]);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i)
        own[i] = fma(weight, load(row, first + i * V::kWidth, values.size), own[i]);
    }
    for (int i = 0; i < kCount; ++i) own[i].store(sums + first + i * V::kWidth);
  }

  static void add(const float* weights, const DirectRows& values, float* sums) {
    with_type(values, [&](const auto* row) {
      int64_t e = 0;
      for (; e + (kVectors - 1) * V::kWidth < values.size; e += kVectors * V::kWidth)
        add_some<kVectors>(weights, row, values, e, sums);
      for (; e < values.size; e += V::kWidth) add_some<1>(weights, row, values, e, sums);
    });
  }
};

}  // namespace tenon::cpu::attention_detail
