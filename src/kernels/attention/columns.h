#pragma once

#include "kernels/attention/attention.h"

/// Attention with the scores transposed: a vector holds the scores of many queries against one key,
/// so that maxima and sums need no reductions across lanes, and keys and values are read where they
/// lie. For f32 and blocks of queries.
namespace tenon::cpu {

/// Queries of a task and keys between two looks at the maximum; scores of both stay in the
/// first-level cache.
inline constexpr int64_t kColumnQueries = 64;
inline constexpr int64_t kColumnKeys = 64;

size_t attention_columns_scratch_bytes(const AttentionProblem& problem, int threads);
/// `scratch` holds so many bytes for the threads of the pool, 64-byte aligned. The mask, if any, is
/// the same for all queries.
void attention_columns(const AttentionProblem& problem, const AttentionArguments& arguments,
                       ThreadPool& pool, void* scratch);

/// Some queries of one head.
struct ColumnTask {
  const AttentionProblem& problem;
  const float *q, *k, *v;
  const void* mask;  ///< Of the first key, in its own type.
  int64_t first, queries;
  float* out;
  float* scratch;
};
using ColumnFunction = void (*)(const ColumnTask& task);
TENON_BY_ISA(ColumnFunction, column_function)

/// Floats of a thread's scratch.
int64_t attention_columns_floats(const AttentionProblem& problem);

}  // namespace tenon::cpu
