#pragma once

#include "kernels/attention/attention.h"
#include "kernels/quantized/byte_finish.h"

/// Attention of bytes: both products in integers, the softmax between them in float. Like
/// kernels/attention, a few queries against a block of keys at a time.
namespace tenon::cpu {

/// Sums of so many products of bytes fit 32 bits.
inline constexpr int64_t kMostByteDepth = 65536;

/// A byte b stands for b - zero times a scale.
struct ByteHeads {
  bool is_signed = false;
  int32_t zero = 0;
};

struct ByteAttentionProblem {
  AttentionProblem attention;  ///< Its scale is 1; weights are rounded to integers.
  float score_scale = 1;       ///< of a product of q and k
  ByteHeads q, k, v;
  float scale = 1;  ///< of the step of the weights times that of v
  ByteType type = ByteType::f32;
  float inverse = 1, low = 0, high = 0, output_zero = 0;  ///< See ByteFinish.
};

/// Scratch bytes for that many threads.
size_t byte_attention_scratch_bytes(const ByteAttentionProblem& problem, int threads);
/// As attention().
void byte_attention(const ByteAttentionProblem& problem, const AttentionArguments& arguments,
                    ThreadPool& pool, void* scratch);

/// The parts that are compiled for one instruction set. Packed operands are those of ByteTile; each
/// byte is xored with `flip`.
struct ByteAttentionFunctions {
  /// Rows of `size` bytes become columns, and the sums of their numbers; `keys` of them.
  void (*pack_keys)(const uint8_t* from, int64_t stride, int64_t keys, int64_t size, uint8_t flip,
                    int8_t* to, int32_t* sums);
  /// Rows become groups of the depth.
  void (*pack_values)(const uint8_t* from, int64_t stride, int64_t keys, int64_t columns,
                      uint8_t flip, int8_t* to);
  int32_t (*sum)(const uint8_t* from, int64_t count);
  /// to[i] += from[i]
  void (*add)(const int32_t* from, int64_t count, int32_t* to);
  /// Rows of kBytePanel sums, each plus the number of its row.
  void (*add_to_rows)(const int32_t* numbers, int64_t rows, int32_t* sums);
  void (*to_floats)(const int32_t* sums, const int32_t* numbers, int64_t rows, float scale,
                    float* to, int64_t stride);
};
extern const ByteAttentionFunctions kByteAttentionGeneric;
extern const ByteAttentionFunctions kByteAttentionAvx2;
extern const ByteAttentionFunctions kByteAttentionAvx512;

}  // namespace tenon::cpu
