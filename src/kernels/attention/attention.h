#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"

/// softmax(cap(scale * q k^T) + mask) v, a block of queries against a block of keys at a time with
/// a running maximum and sum (Milakov and Gimelshein, "Online normalizer calculation for softmax",
/// 2018), so that no score matrix is stored.
namespace tenon::cpu {

/// Steps in elements from one batch, head and position to the next; the elements of a head are
/// contiguous.
struct HeadStrides {
  int64_t batch = 0, head = 0, position = 0;
};

enum class MaskKind : uint8_t { none, boolean, f32, bf16 };

struct AttentionProblem {
  bool bf16 = false;  ///< q, k, v and the output; arithmetic is in float.
  int64_t batch = 1, heads = 1, kv_heads = 1, q_length = 1, kv_length = 1;
  int64_t size = 1, value_size = 1;  ///< Elements of a head of q and k, and of v.
  HeadStrides q, k, v, out;
  MaskKind mask = MaskKind::none;
  std::array<int64_t, 4> mask_strides{};  ///< batch, head, query, key; 0 broadcasts. In elements.
  float scale = 1, softcap = 0;
  bool causal = false;
  int64_t diagonal = 0;  ///< Causal: query i sees keys up to i + diagonal.
  bool masked_rows_zero = false;
  /// Queries that share a pass over the keys, at most kMaxQueryBlock; results do not depend on it.
  int64_t query_block = 32;
  Isa isa = detected_isa();
};

struct AttentionArguments {
  const void *q, *k, *v, *mask;
  void* out;
};

/// The largest block of queries that still gives each of `threads` several tasks: keys and values
/// are packed once a block.
int64_t choose_query_block(const AttentionProblem& problem, int threads);
/// Scratch bytes that each thread needs.
size_t attention_scratch_bytes(const AttentionProblem& problem);
/// `scratch` holds that many bytes for each thread of the pool, 64-byte aligned. Results do not
/// depend on the threads.
void attention(const AttentionProblem& problem, const AttentionArguments& arguments,
               ThreadPool& pool, void* scratch);

inline constexpr int64_t kMaxQueryBlock = 128;
inline constexpr int64_t kKeyBlock = 256;

/// One block of queries of one head, as compiled for one instruction set.
using AttentionBlock = void (*)(const AttentionProblem& problem,
                                const AttentionArguments& arguments, int64_t batch, int64_t head,
                                int64_t first_query, float* scratch);
AttentionBlock attention_block_generic();
AttentionBlock attention_block_avx2();
AttentionBlock attention_block_avx512();

}  // namespace tenon::cpu
