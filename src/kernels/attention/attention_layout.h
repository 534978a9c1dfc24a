#pragma once

#include <algorithm>
#include <cstdint>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu::attention_detail {

/// Keys that are packed and worked off at a time: with their values they stay in the second-level
/// cache.
inline constexpr int64_t kKeyBlock = kMostKeys;
/// Rows of scores lie this many elements further apart than needed, off the powers of two.
inline constexpr int64_t kRowPadding = 32;

/// Queries of one task: each packs the keys and values of its head again.
inline constexpr int64_t kMostRows = 256;
inline constexpr int64_t kLeastRows = 32;
inline constexpr int64_t kTasksPerThread = 4;

/// Queries are cut further only where the heads alone would not keep the threads busy.
inline int64_t rows_of_task(const AttentionProblem& p, int threads) {
  const int64_t heads = p.batch * p.heads, wanted = threads > 1 ? threads * kTasksPerThread : 1;
  int64_t rows = kMostRows;
  while (rows > kLeastRows && heads * ceil_div(p.q_length, rows) < wanted) rows /= 2;
  return std::max<int64_t>(1, std::min(rows, p.q_length));
}

/// A thread's scratch, as offsets in bytes: packed keys and values of a block; for the rows of one
/// tile the queries, scores and probabilities; for all queries of a task the sums so far.
struct Layout {
  int64_t query_stride, score_stride, value_stride;  ///< elements
  size_t keys, values, queries, scores, probabilities, sums, most, total, bytes;

  Layout(const AttentionProblem& p, const Microkernels& kernels, int64_t task_rows, int threads) {
    const int64_t element = element_size(kernels.type);
    query_stride = round_up(p.size, kernels.k_unit) + kRowPadding;
    score_stride = kKeyBlock + kRowPadding;
    value_stride = round_up(p.value_size, kernels.panel);
    size_t at = 0;
    const auto take = [&at](size_t size) {
      const size_t from = at;
      at = align_up(at + size);
      return from;
    };
    keys = take(packed_bytes(kernels, p.size, kKeyBlock));
    values = take(packed_bytes(kernels, kKeyBlock, p.value_size));
    queries = take(kernels.max_rows * query_stride * element);
    scores = take(kernels.max_rows * score_stride * sizeof(float));
    probabilities = take(kernels.max_rows * score_stride * element);
    sums = take(task_rows * value_stride * sizeof(float));
    most = take(task_rows * sizeof(float));
    total = take(task_rows * sizeof(float));
    bytes = worker_stride(at, threads);
  }
};

}  // namespace tenon::cpu::attention_detail
