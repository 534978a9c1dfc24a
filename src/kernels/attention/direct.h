#pragma once

#include "kernels/attention/attention.h"

/// Attention of few queries, as of a decoder's next token: keys and values are read where they lie,
/// once for each head, and nothing is packed.
namespace tenon::cpu {

/// From more on, what packing costs is shared by many.
inline constexpr int64_t kMostDirectQueries = 8;

size_t attention_direct_scratch_bytes(const AttentionProblem& problem, int threads);
/// `scratch` holds so many bytes for the threads of the pool, 64-byte aligned. Weights are not
/// rounded.
void attention_direct(const AttentionProblem& problem, const AttentionArguments& arguments,
                      ThreadPool& pool, void* scratch);

/// Keys or values of one head.
struct DirectRows {
  const void* rows;
  bool bf16;
  int64_t stride, count, size;  ///< In elements.
};

/// The parts that are compiled for one instruction set. Queries and sums are padded to whole
/// vectors, with zeros.
struct DirectFunctions {
  void (*widen)(const DirectRows& row, float* to);
  /// The product of the query with each key.
  void (*score)(const float* query, const DirectRows& keys, float* scores);
  /// sums += weights * values.
  void (*add)(const float* weights, const DirectRows& values, float* sums);
};
TENON_BY_ISA(const DirectFunctions&, direct_functions)

}  // namespace tenon::cpu
