#pragma once

#include <optional>
#include <vector>

#include "ops/scalar_steps.h"
#include "passes/match.h"

namespace tenon {

/// exp() of anything this much below the largest score is 0.
inline constexpr double kVeryNegative = -9999;

/// A term of the scores on their way into the softmax.
struct ScoreMask {
  enum Kind {
    kAdded,    ///< scores + value
    kKept,     ///< where(value, scores, fill)
    kDropped,  ///< where(value, fill, scores)
  };
  Kind kind = kAdded;
  Value* value = nullptr;
  double fill = 0;  ///< Very negative, or -infinity.
  Shape level;      ///< Extents of the scores before the last two axes, where the term is applied.
};

/// A factor or divisor of the scores that is one number for all keys: q can take it instead.
struct ScoreFactor {
  Value* value = nullptr;
  bool divides = false;
  Shape level;  ///< Like that of a mask.
};

/// softmax(cap(scale * q k^T) + masks) v, as exporters write it.
struct AttentionPattern {
  Value *q = nullptr, *k = nullptr, *v = nullptr;
  bool k_transposed = false;    ///< k is [..., H, S].
  bool v_transposed = false;    ///< v is [..., H, S].
  bool out_transposed = false;  ///< The result is [..., H, Sq].
  bool masked_rows_zero = false;
  std::vector<ScalarStep> steps;         ///< Behind scale and cap, innermost first.
  std::vector<ScalarStep> masked_steps;  ///< Behind the masks.
  std::vector<ScalarStep> weight_steps;  ///< Behind the softmax, ahead of weights_step.
  double scale = 1, soft_cap = 0;
  DataType softmax_type = DataType::kFloat32;
  /// Of the quantization between softmax and product; 0: none.
  double weights_step = 0;
  int64_t weights_limit = 0;
  DataType weights_type = DataType::kInt8;
  std::vector<ScoreMask> masks;
  std::vector<ScoreFactor> factors;
  /// Batch and heads, when q, k and v have rank 3 and these are their first extent.
  Shape heads;
};

/// The pattern that ends in `root`, the product with v. Handles scales on q, k and the product,
/// numbers of each head or query among them, caps on the scores, other scalar functions of them and
/// their quantization, also behind their masks, k transposed or not, v times the
/// transposed softmax, masks through sums, where and factors of 0 and 1, guards against rows
/// without scores, conversions around the softmax, quantization and its reverse behind it, tensors
/// of rank 3 and more, and masks added between reshapes that part or join the first axes. Operands
/// of the `foreign` type, which the device does not compute in, stay behind their casts.
std::optional<AttentionPattern> match_attention(const Graph& graph, const Node& root,
                                                std::optional<DataType> foreign = std::nullopt);

/// The value that multiplications and divisions by numbers were made of, which `scale` takes.
Value* without_factor(Value* value, double& scale);

/// Keys and values whose heads were both repeated, as often (inserted axis, expand or tile, axes
/// joined), become the tensors before the repetition: [B,h,S,H] for [B,h*n,S,H].
bool share_heads(Graph& graph, Value*& k, Value*& v, const Node& like);

}  // namespace tenon
