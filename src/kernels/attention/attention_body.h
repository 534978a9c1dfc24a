#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/attention/attention_layout.h"
#include "kernels/vector_math/functions.h"

/// The block of queries, over a vector type V of kernels/vector_math.
namespace tenon::cpu::attention_detail {

template <class V>
V load_element_row(const AttentionProblem& p, const void* base, int64_t at, int n) {
  if (p.bf16) {
    const auto* from = static_cast<const uint16_t*>(base) + at;
    return n == V::kWidth ? V::load_bf16(from) : V::load_bf16(from, n);
  }
  const auto* from = static_cast<const float*>(base) + at;
  return n == V::kWidth ? V::load(from) : V::load(from, n);
}

/// Rows of `count` elements each as floats, multiplied, with zeros up to `padded`.
template <class V>
void copy_rows(const AttentionProblem& p, const void* base, int64_t at, int64_t step, int64_t rows,
               int64_t count, int64_t padded, float factor, float* to) {
  const V scale = V::broadcast(factor);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < padded; c += V::kWidth) {
      const int n = static_cast<int>(std::clamp<int64_t>(count - c, 0, V::kWidth));
      const V x = n == 0 ? V::zero() : load_element_row<V>(p, base, at + r * step + c, n) * scale;
      x.store(to + r * padded + c);
    }
  }
}

/// Keys transposed: to[element][key], zeros behind the last key.
inline void transpose_keys(const AttentionProblem& p, const void* base, int64_t at, int64_t keys,
                           int64_t padded, float* to) {
  const auto* f32 = static_cast<const float*>(base);
  const auto* bf16 = static_cast<const uint16_t*>(base);
  constexpr int64_t kTile = 16;
  for (int64_t k0 = 0; k0 < padded; k0 += kTile) {
    for (int64_t e = 0; e < p.size; ++e) {
      for (int64_t k = k0; k < k0 + kTile; ++k) {
        const int64_t from = at + k * p.k.position + e;
        float value = 0;
        if (k < keys)
          value = p.bf16 ? __builtin_bit_cast(float, static_cast<uint32_t>(bf16[from]) << 16)
                         : f32[from];
        to[e * kKeyBlock + k] = value;
      }
    }
  }
}

/// c[R][CW] (+)= a[R][depth] * b[depth][CW], with the tile in registers.
template <class V, int kRows, int kColumns, bool kAdd>
[[gnu::always_inline]] inline void tile(const float* a, int64_t lda, const float* b, int64_t ldb,
                                        float* c, int64_t ldc, int64_t depth) {
  V acc[kRows][kColumns];
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < kColumns; ++j)
      acc[r][j] = kAdd ? V::load(c + r * ldc + j * V::kWidth) : V::zero();
  for (int64_t d = 0; d < depth; ++d) {
    V columns[kColumns];
    for (int j = 0; j < kColumns; ++j) columns[j] = V::load(b + d * ldb + j * V::kWidth);
    for (int r = 0; r < kRows; ++r) {
      const V x = V::broadcast(a[r * lda + d]);
      for (int j = 0; j < kColumns; ++j) acc[r][j] = fma(x, columns[j], acc[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < kColumns; ++j) acc[r][j].store(c + r * ldc + j * V::kWidth);
}

/// The whole product; `columns` is a multiple of W. Rows of c behind `rows` up to the next multiple
/// of 8 are written too.
template <class V, bool kAdd>
void product(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
             int64_t rows, int64_t columns, int64_t depth) {
  constexpr int kRows = 8;
  int64_t j = 0;
  for (; j + 2 * V::kWidth <= columns; j += 2 * V::kWidth)
    for (int64_t r = 0; r < rows; r += kRows)
      tile<V, kRows, 2, kAdd>(a + r * lda, lda, b + j, ldb, c + r * ldc + j, ldc, depth);
  for (; j < columns; j += V::kWidth)
    for (int64_t r = 0; r < rows; r += kRows)
      tile<V, kRows, 1, kAdd>(a + r * lda, lda, b + j, ldb, c + r * ldc + j, ldc, depth);
}

inline float mask_value(const AttentionProblem& p, const void* mask, int64_t at) {
  switch (p.mask) {
    case MaskKind::none:
      return 0;
    case MaskKind::boolean:
      return static_cast<const uint8_t*>(mask)[at] != 0 ? 0.0f
                                                        : -std::numeric_limits<float>::infinity();
    case MaskKind::f32:
      return static_cast<const float*>(mask)[at];
    case MaskKind::bf16:
      return __builtin_bit_cast(float, static_cast<uint32_t>(static_cast<const uint16_t*>(mask)[at])
                                           << 16);
  }
  return 0;
}

/// Cap, mask and causality of one row of scores; keys behind the end become -infinity.
template <class V>
void mask_row(const AttentionProblem& p, const void* mask, int64_t mask_at, int64_t query,
              int64_t first_key, int64_t keys, int64_t padded, float* row) {
  const float never = -std::numeric_limits<float>::infinity();
  if (p.softcap > 0) {
    const V cap = V::broadcast(p.softcap), inverse = V::broadcast(1 / p.softcap);
    for (int64_t k = 0; k < padded; k += V::kWidth)
      (cap * vector_math::tanh(V::load(row + k) * inverse)).store(row + k);
  }
  if (p.mask == MaskKind::f32 && p.mask_strides[3] == 1) {
    const float* from = static_cast<const float*>(mask) + mask_at + first_key;
    for (int64_t k = 0; k < keys; ++k) row[k] += from[k];
  } else if (p.mask != MaskKind::none) {
    for (int64_t k = 0; k < keys; ++k)
      row[k] += mask_value(p, mask, mask_at + (first_key + k) * p.mask_strides[3]);
  }
  int64_t visible = keys;
  if (p.causal) visible = std::clamp<int64_t>(query + p.diagonal + 1 - first_key, 0, keys);
  std::fill(row + visible, row + padded, never);
}

/// Replaces scores by exp(score - new maximum) and updates maximum and sum; returns the factor for
/// what was summed before.
template <class V>
float softmax_row(float* row, int64_t padded, float& most, float& sum) {
  const float never = -std::numeric_limits<float>::infinity();
  V top = V::broadcast(never);
  for (int64_t k = 0; k < padded; k += V::kWidth) top = max(V::load(row + k), top);
  float lanes[V::kWidth];
  top.store(lanes);
  const float next = std::max(most, *std::max_element(lanes, lanes + V::kWidth));
  if (next == never) {
    std::fill(row, row + padded, 0.0f);
    return 1;
  }
  const V shift = V::broadcast(next);
  V total = V::zero();
  for (int64_t k = 0; k < padded; k += V::kWidth) {
    const V x = vector_math::exp(V::load(row + k) - shift);
    x.store(row + k);
    total = total + x;
  }
  total.store(lanes);
  float block = 0;
  for (const float lane : lanes) block += lane;
  const float factor = most == never ? 0.0f : std::exp(most - next);
  sum = sum * factor + block;
  most = next;
  return factor;
}

template <class V>
void store_row(const AttentionProblem& p, const float* from, float factor, void* base, int64_t at) {
  const V scale = V::broadcast(factor);
  for (int64_t c = 0; c < p.value_size; c += V::kWidth) {
    const int n = static_cast<int>(std::min<int64_t>(p.value_size - c, V::kWidth));
    const V x = V::load(from + c) * scale;
    if (p.bf16)
      x.store_bf16(static_cast<uint16_t*>(base) + at + c, n);
    else
      x.store(static_cast<float*>(base) + at + c, n);
  }
}

template <class V>
void block(const AttentionProblem& p, const AttentionArguments& args, int64_t batch, int64_t head,
           int64_t first_query, float* scratch) {
  const Layout layout(p);
  float *q = scratch, *k = q + layout.q, *v = k + layout.k, *scores = v + layout.v,
        *out = scores + layout.scores;
  const int64_t rows = std::min(p.query_block, p.q_length - first_query),
                kv_head = head / (p.heads / p.kv_heads);
  const int64_t q_padded = round_up(p.size, Layout::kPadding),
                v_padded = round_up(p.value_size, Layout::kPadding);
  copy_rows<V>(p, args.q, batch * p.q.batch + head * p.q.head + first_query * p.q.position,
               p.q.position, rows, p.size, q_padded, p.scale, q);
  std::fill(q + rows * q_padded, q + p.query_block * q_padded, 0.0f);
  std::fill(out, out + p.query_block * v_padded, 0.0f);
  float most[kMaxQueryBlock], sum[kMaxQueryBlock];
  std::fill_n(most, kMaxQueryBlock, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, kMaxQueryBlock, 0.0f);
  int64_t end = p.kv_length;
  if (p.causal) end = std::clamp<int64_t>(first_query + rows + p.diagonal, 0, p.kv_length);
  for (int64_t key = 0; key < end; key += kKeyBlock) {
    const int64_t keys = std::min(kKeyBlock, end - key), padded = round_up(keys, 2 * V::kWidth);
    const int64_t k_at = batch * p.k.batch + kv_head * p.k.head + key * p.k.position;
    const int64_t v_at = batch * p.v.batch + kv_head * p.v.head + key * p.v.position;
    transpose_keys(p, args.k, k_at, keys, padded, k);
    copy_rows<V>(p, args.v, v_at, p.v.position, keys, p.value_size, v_padded, 1.0f, v);
    product<V, false>(q, q_padded, k, kKeyBlock, scores, kKeyBlock, rows, padded, p.size);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t query = first_query + r;
      const int64_t mask_at =
          batch * p.mask_strides[0] + head * p.mask_strides[1] + query * p.mask_strides[2];
      float* row = scores + r * kKeyBlock;
      mask_row<V>(p, args.mask, mask_at, query, key, keys, padded, row);
      const float factor = softmax_row<V>(row, padded, most[r], sum[r]);
      if (factor != 1)
        for (int64_t c = 0; c < v_padded; ++c) out[r * v_padded + c] *= factor;
    }
    for (int64_t r = rows; r < round_up(rows, 8); ++r)
      std::fill_n(scores + r * kKeyBlock, keys, 0.0f);
    product<V, true>(scores, kKeyBlock, v, v_padded, out, v_padded, rows, v_padded, keys);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float empty = p.masked_rows_zero ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    const int64_t at = batch * p.out.batch + head * p.out.head + (first_query + r) * p.out.position;
    store_row<V>(p, out + r * v_padded, sum[r] == 0 ? empty : 1 / sum[r], args.out, at);
  }
}

}  // namespace tenon::cpu::attention_detail
