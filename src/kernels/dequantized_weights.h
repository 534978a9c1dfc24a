#pragma once

#include "kernels/tactic.h"
#include "ops/math.h"

namespace tenon {

/// Constant weights of 4 or 8 bits that a region dequantizes and multiplies: one scale, one a
/// column, or blocks of them along the depth.
struct DequantizedWeights {
  int weights = -1, scales = -1, zeros = -1;  ///< Problem inputs; -1: zero points of 0.
  DataType type = DataType::kInt4;
  bool across = false;  ///< They lie depth first.
  int64_t depth = 0, columns = 0;
  int64_t block = 0;  ///< Steps of the depth that share scales; the last block may be shorter.
  bool blocked = false, by_column = false;  ///< Scales go along the depth, the columns.

  int64_t blocks() const { return (depth + block - 1) / block; }
  bool nibbles() const { return type == DataType::kInt4 || type == DataType::kUInt4; }
  bool is_signed() const { return type == DataType::kInt4 || type == DataType::kInt8; }
  /// The place of a weight among all.
  int64_t at(int64_t k, int64_t column) const {
    return across ? k * columns + column : column * depth + k;
  }
  /// The place of its scale and zero point among all.
  int64_t number_at(int64_t block_number, int64_t column) const {
    if (!blocked) return by_column ? column : 0;
    return across ? block_number * columns + column : column * blocks() + block_number;
  }
};

/// Those of a product's second operand, given the node that dequantizes it in the region; fails,
/// with the reason, for others.
Result<DequantizedWeights> dequantized_weights(const Problem& problem, const MatMul& matmul,
                                               const Node& dequantize);

}  // namespace tenon
