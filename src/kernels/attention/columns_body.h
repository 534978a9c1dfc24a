#pragma once

#include <algorithm>
#include <limits>

#include "kernels/attention/columns.h"
#include "kernels/vector_math/functions.h"

/// One task over a vector type V of kernels/vector_math; included by one source an instruction set.
namespace tenon::cpu {
namespace {

constexpr int64_t kQueries = kColumnQueries;
constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Rows of memory that a product fetches into the caches on its way: as many as it has rows itself,
/// and as much of each as it reads of its own.
struct Fetch {
  const float* rows = nullptr;
  int64_t stride = 0;

  Fetch from(int64_t row) const { return {rows + row * stride, stride}; }
};
constexpr int64_t kLineFloats = 16;

/// Heads lie in lines far apart, each in a page of its own, which no hardware prefetches.
template <int R> [[gnu::always_inline]] inline void fetch_lines(const Fetch& fetch, int64_t at) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) __builtin_prefetch(fetch.rows + r * fetch.stride + at, 0, 3);
}

/// c[R][2 vectors] = initial + a[R][depth] * b[depth][2 vectors]; b and c have rows of kQueries. An
/// element of a is `a_row` from that of the next row and `a_step` from the next one of its row.
template <class V, int R, bool kAdd>
[[gnu::always_inline]] inline void tile(const float* a, int64_t a_row, int64_t a_step,
                                        const float* b, float* c, int64_t depth,
                                        const Fetch (&fetch)[2]) {
  V sums[R][2];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
      sums[r][j] = kAdd ? V::load(c + r * kQueries + j * V::kWidth) : V::zero();
  for (int64_t d = 0; d < depth; ++d) {
    if (fetch[0].rows != nullptr && d % kLineFloats == 0) {
      fetch_lines<R>(fetch[0], d);
      fetch_lines<R>(fetch[1], d);
    }
    const V left = V::load(b), right = V::load(b + V::kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V x = V::broadcast(a[r * a_row]);
      sums[r][0] = fma(x, left, sums[r][0]);
      sums[r][1] = fma(x, right, sums[r][1]);
    }
    a += a_step;
    b += kQueries;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) sums[r][j].store(c + r * kQueries + j * V::kWidth);
}

template <class V, bool kAdd>
void product(const float* a, int64_t rows, int64_t a_row, int64_t a_step, const float* b, float* c,
             int64_t depth, int64_t columns, const Fetch& next = {}, const Fetch& other = {}) {
  for (int64_t j = 0; j < columns; j += 2 * V::kWidth) {
    const auto some = [&]<int R>(int64_t r) {
      const bool first = j == 0 && next.rows != nullptr;
      const Fetch fetch[2] = {first ? next.from(r) : Fetch{}, first ? other.from(r) : Fetch{}};
      tile<V, R, kAdd>(a + r * a_row, a_row, a_step, b + j, c + r * kQueries + j, depth, fetch);
    };
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8) some.template operator()<8>(r);
    for (; r + 4 <= rows; r += 4) some.template operator()<4>(r);
    for (; r < rows; ++r) some.template operator()<1>(r);
  }
}

/// The task's memory: transposed queries, sums of values and scores, rows of kQueries.
template <class V> struct Columns {
  const ColumnTask& task;
  const AttentionProblem& p = task.problem;
  const int64_t columns = (task.queries + 2 * V::kWidth - 1) / (2 * V::kWidth) * 2 * V::kWidth;
  float* q = task.scratch;
  float* sums = q + round_up(p.size) * kQueries;
  float* scores = sums + round_up(p.value_size) * kQueries;
  float* most = scores + kColumnKeys * kQueries;
  float* total = most + kQueries;

  static int64_t round_up(int64_t n) { return (n + V::kWidth - 1) / V::kWidth * V::kWidth; }
  static int lanes(int64_t n, int64_t at) {
    return static_cast<int>(std::clamp<int64_t>(n - at, 0, V::kWidth));
  }

  void take_queries() const {
    const V scale = V::broadcast(p.scale);
    for (int64_t i = 0; i < columns; i += V::kWidth)
      for (int64_t e = 0; e < p.size; e += V::kWidth) {
        V rows[V::kWidth];
        for (int64_t r = 0; r < V::kWidth; ++r)
          rows[r] = i + r < task.queries
                        ? V::load(task.q + (i + r) * p.q.position + e, lanes(p.size, e)) * scale
                        : V::zero();
        V::transpose(rows);
        for (int64_t r = 0; r < V::kWidth; ++r) rows[r].store(q + (e + r) * kQueries + i);
      }
  }

  void give_results() const {
    for (int64_t i = 0; i < task.queries; i += V::kWidth) {
      const V empty =
          V::broadcast(p.masked_rows_zero ? 0.0f : std::numeric_limits<float>::quiet_NaN());
      const V sum = V::load(total + i);
      const V factor = select(V::zero() < sum, V::broadcast(1.0f) / sum, sum + empty);
      for (int64_t e = 0; e < p.value_size; e += V::kWidth) {
        V rows[V::kWidth];
        for (int64_t r = 0; r < V::kWidth; ++r)
          rows[r] = V::load(sums + (e + r) * kQueries + i) * factor;
        V::transpose(rows);
        for (int64_t r = 0; r < V::kWidth && i + r < task.queries; ++r)
          rows[r].store(task.out + (i + r) * p.out.position + e, lanes(p.value_size, e));
      }
    }
  }

  float mask_of(int64_t key) const {
    const int64_t at = key * p.mask_strides[3];
    if (p.mask == MaskKind::f32) return static_cast<const float*>(task.mask)[at];
    if (p.mask == MaskKind::bf16)
      return __builtin_bit_cast(
          float, static_cast<uint32_t>(static_cast<const uint16_t*>(task.mask)[at]) << 16);
    return static_cast<const uint8_t*>(task.mask)[at] != 0 ? 0.0f : kNever;
  }

  void mask(int64_t key, int64_t keys) const {
    if (p.softcap > 0) {
      const V cap = V::broadcast(p.softcap), inverse = V::broadcast(1 / p.softcap);
      for (int64_t i = 0; i < keys * kQueries; i += V::kWidth)
        (cap * vector_math::tanh(V::load(scores + i) * inverse)).store(scores + i);
    }
    for (int64_t k = 0; k < keys; ++k) {
      float* row = scores + k * kQueries;
      if (p.mask != MaskKind::none) {
        const V term = V::broadcast(mask_of(key + k));
        for (int64_t i = 0; i < columns; i += V::kWidth) (V::load(row + i) + term).store(row + i);
      }
      // Query first + i sees keys up to first + i + diagonal.
      if (p.causal)
        std::fill_n(row, std::clamp<int64_t>(key + k - p.diagonal - task.first, 0, columns),
                    kNever);
    }
  }

  /// Scores to exp(score - maximum) of one vector of queries; sums follow a rising maximum.
  void softmax(int64_t i, int64_t keys) const {
    float* column = scores + i;
    const V before = V::load(most + i);
    V top = before, other = before;
    int64_t key = 0;
    for (; key + 2 <= keys; key += 2) {
      top = max(V::load(column + key * kQueries), top);
      other = max(V::load(column + (key + 1) * kQueries), other);
    }
    if (key < keys) top = max(V::load(column + key * kQueries), top);
    top = max(other, top);
    // Where nothing is visible yet all exponentials are zero.
    const V shift = max(top, V::broadcast(std::numeric_limits<float>::lowest()));
    const V factor = vector_math::exp(before - shift);
    V sum = V::load(total + i) * factor;
    for (int64_t k = 0; k < keys; ++k) {
      const V e = vector_math::exp_of_share(V::load(column + k * kQueries) - shift);
      e.store(column + k * kQueries);
      sum = sum + e;
    }
    sum.store(total + i);
    top.store(most + i);
    for (int64_t e = 0; e < p.value_size; ++e) {
      float* at = sums + e * kQueries + i;
      (V::load(at) * factor).store(at);
    }
  }

  void run() const {
    for (int64_t at = 0; at < p.size; at += kLineFloats) fetch_lines<8>({task.k, p.k.position}, at);
    take_queries();
    std::fill_n(sums, round_up(p.value_size) * kQueries, 0.0f);
    std::fill_n(most, kQueries, kNever);
    std::fill_n(total, kQueries, 0.0f);
    int64_t end = p.kv_length;
    if (p.causal) end = std::clamp<int64_t>(task.first + task.queries + p.diagonal, 0, p.kv_length);
    for (int64_t key = 0; key < end; key += kColumnKeys) {
      const int64_t keys = std::min(kColumnKeys, end - key);
      // The keys behind these, of this block or the next one, and the values that follow.
      const float* keys_at = task.k + key * p.k.position;
      product<V, false>(keys_at, keys, p.k.position, 1, q, scores, p.size, columns,
                        {keys_at + 8 * p.k.position, p.k.position},
                        {task.v + key * p.v.position, p.v.position});
      mask(key, keys);
      for (int64_t i = 0; i < columns; i += V::kWidth) softmax(i, keys);
      product<V, true>(task.v + key * p.v.position, p.value_size, 1, p.v.position, scores, sums,
                       keys, columns);
    }
    give_results();
  }
};

}  // namespace
}  // namespace tenon::cpu
