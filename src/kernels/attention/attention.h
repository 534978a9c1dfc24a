#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"
#include "kernels/pointwise/executor.h"

/// softmax(cap(scale * q k^T) + mask) v, a few queries against a block of keys at a time with a
/// running maximum and sum (Milakov and Gimelshein, "Online normalizer calculation for softmax",
/// 2018), so that no score matrix is stored. Both products run on the matrix kernels of
/// kernels/gemm.
namespace tenon::cpu {

/// Steps in elements from one batch, head and position to the next; the elements of a head are
/// contiguous.
struct HeadStrides {
  int64_t batch = 0, head = 0, position = 0;
};

enum class MaskKind : uint8_t { none, boolean, f32, bf16 };

/// No row of scores is longer at a time, padded to a whole vector.
inline constexpr int64_t kMostKeys = 256;

/// A scalar function of the scores, and a row of its other operand where it has one.
struct ScoreStep {
  PointwiseProgram::Instruction instruction;
  std::vector<float> number;
  bool number_first = false;
};

struct AttentionProblem {
  bool bf16 = false;  ///< q, k, v and the output; sums and softmax are in float.
  int64_t batch = 1, heads = 1, kv_heads = 1, q_length = 1, kv_length = 1;
  int64_t size = 1, value_size = 1;  ///< Elements of a head of q and k, and of v.
  HeadStrides q, k, v, out;
  MaskKind mask = MaskKind::none;
  std::array<int64_t, 4> mask_strides{};  ///< batch, head, query, key; 0 broadcasts. In elements.
  float scale = 1, softcap = 0;
  bool causal = false;
  int64_t diagonal = 0;  ///< Causal: query i sees keys up to i + diagonal.
  bool masked_rows_zero = false;
  std::vector<ScoreStep> steps;         ///< Behind scale and cap.
  std::vector<ScoreStep> masked_steps;  ///< Behind the mask.
  std::vector<ScoreStep> weight_steps;  ///< Behind the softmax, ahead of the rounding.
  /// Where it is not 0, weights are rounded to multiples of it, `weights_limit` at most. They must
  /// be known for that, so that scores are computed twice.
  float weights_step = 0, weights_limit = 0;
  /// The multiples are integers, or have so many places as floats of 8 bits, the least normal one
  /// of which is this.
  int weights_places = 0;
  float weights_least = 0;
  Isa isa = detected_isa();
};

struct AttentionArguments {
  const void *q, *k, *v, *mask;
  void* out;
};

/// Scratch bytes for that many threads.
size_t attention_scratch_bytes(const AttentionProblem& problem, int threads);
/// `scratch` holds so many bytes for the threads of the pool, 64-byte aligned. Results do not
/// depend on the threads.
void attention(const AttentionProblem& problem, const AttentionArguments& arguments,
               ThreadPool& pool, void* scratch);

/// Scores of some queries against one block of keys.
struct ScoreRows {
  const AttentionProblem& problem;
  const void* mask;
  int64_t mask_at;  ///< of the first query and key
  int64_t rows;
  int64_t first_query, first_key, keys;
  float* scores;  ///< keys of a row, padded to a whole vector, may be overwritten
  int64_t stride;
  void* probabilities;  ///< bf16, or null: they replace the scores
  /// Takes the multiples of weights_step as integers in their place; null: they are not wanted.
  uint8_t* multiples = nullptr;
  float *most, *total;  ///< running maximum and sum of each row
  float* sums;          ///< of values so far, to be scaled down where a maximum rises; or null
  int64_t sums_stride;
  const BlockFunctions& blocks;
  bool are_final = false;  ///< Maximum and sum are of all keys: rounded weights replace the scores.
  bool are_all = false;    ///< These are all keys: maximum and sum first, then rounded weights.
};

/// The parts that are compiled for one instruction set.
struct AttentionFunctions {
  const BlockFunctions& (*blocks)();
  /// Scores to exp(score - maximum), or to rounded weights; zero behind the last key up to a whole
  /// vector.
  void (*softmax)(const ScoreRows& rows);
  /// Sums of `rows` rows over their totals, into the output at `to` elements.
  void (*store)(const AttentionProblem& problem, const float* sums, int64_t stride,
                const float* total, int64_t rows, void* out, int64_t to);
};
const AttentionFunctions& attention_functions(Isa isa);
extern const AttentionFunctions kAttentionGeneric;
extern const AttentionFunctions kAttentionAvx2;
extern const AttentionFunctions kAttentionAvx512;

}  // namespace tenon::cpu
