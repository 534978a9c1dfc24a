#pragma once

#include <algorithm>
#include <limits>

#include "base/arithmetic.h"
#include "kernels/attention/attention_layout.h"

namespace tenon::cpu::attention_detail {

/// The purpose of a pass over the keys: weights as they come, or rounded ones of a single block, or
/// the sums of weights alone, then the rounded weights.
enum class Round { running, at_once, totals, rounded };

/// Some queries of one head, whose scores meet all its keys, a block of these after the other.
/// Kernels for an element type derive from it, with pack(key, keys, round) and
/// tile(begin, end, key, keys, round): queries [begin, end) of the task against the packed keys.
struct AttentionTask {
  const AttentionProblem& p;
  const AttentionArguments& arguments;
  const AttentionFunctions& functions;
  char* scratch;
  int64_t batch, head, first, rows;

  /// Task `number` of those of `task_rows` queries.
  static AttentionTask of(const AttentionProblem& p, const AttentionArguments& arguments,
                          const AttentionFunctions& functions, char* scratch, int64_t number,
                          int64_t task_rows) {
    const int64_t groups = ceil_div(p.q_length, task_rows), first = number % groups * task_rows;
    const int64_t heads = number / groups;
    return {p,
            arguments,
            functions,
            scratch,
            heads / p.heads,
            heads % p.heads,
            first,
            std::min(task_rows, p.q_length - first)};
  }

  template <class T> T* at(size_t offset) const { return reinterpret_cast<T*>(scratch + offset); }

  /// Keys that the first `count` queries see together.
  int64_t end_of(int64_t count) const {
    if (!p.causal) return p.kv_length;
    return std::clamp<int64_t>(first + count + p.diagonal, 0, p.kv_length);
  }

  template <class Offsets> void start(const Offsets& layout) const {
    std::fill_n(at<float>(layout.most), rows, -std::numeric_limits<float>::infinity());
    std::fill_n(at<float>(layout.total), rows, 0.0f);
  }

  /// The scores of a tile's queries and `keys` keys, which stay in their place; no sums follow.
  template <class Offsets>
  ScoreRows scores(const Offsets& layout, int64_t begin, int64_t end, int64_t key, int64_t keys,
                   Round round) const {
    const int64_t query = first + begin;
    return {.problem = p,
            .mask = arguments.mask,
            .mask_at = batch * p.mask_strides[0] + head * p.mask_strides[1] +
                       query * p.mask_strides[2] + key * p.mask_strides[3],
            .rows = end - begin,
            .first_query = query,
            .first_key = key,
            .keys = keys,
            .scores = at<float>(layout.scores),
            .stride = layout.score_stride,
            .probabilities = nullptr,
            .most = at<float>(layout.most) + begin,
            .total = at<float>(layout.total) + begin,
            .sums = nullptr,
            .sums_stride = 0,
            .blocks = functions.blocks(),
            .are_final = round == Round::rounded,
            .are_all = round == Round::at_once};
  }
};

/// In tiles of `max_rows` queries at most.
template <class Task> void pass_over_keys(const Task& task, int max_rows, Round round) {
  const int64_t end = task.end_of(task.rows), tiles = ceil_div(task.rows, max_rows);
  for (int64_t key = 0; key < end; key += kKeyBlock) {
    const int64_t keys = std::min(kKeyBlock, end - key);
    task.pack(key, keys, round);
    for (int64_t i = 0; i < tiles; ++i)
      task.tile(i * task.rows / tiles, (i + 1) * task.rows / tiles, key, keys, round);
  }
}

/// With weights that are rounded, which needs their sum first.
template <class Task> void pass_rounded(const Task& task, int max_rows) {
  if (task.end_of(task.rows) <= kKeyBlock) return pass_over_keys(task, max_rows, Round::at_once);
  pass_over_keys(task, max_rows, Round::totals);
  pass_over_keys(task, max_rows, Round::rounded);
}

}  // namespace tenon::cpu::attention_detail
