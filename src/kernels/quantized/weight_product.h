#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/isa.h"

/// Products of f32 rows with weights of 4 or 8 bits that are dequantized in registers, or a part at
/// a time in the first-level cache, so that memory gives the quantized ones only.
namespace tenon::cpu {

/// Columns of the weights that lie side by side.
inline constexpr int64_t kWeightPanel = 32;
/// Rows that are multiplied while weights are in registers.
inline constexpr int kWeightRows = 8;

/// How a panel is packed: for each block along the depth the scales of its columns, f32; their zero
/// points, where they are not all the same; then kWeightPanel weights for each step of the depth.
/// Of 4-bit weights column c is the lower half of byte c, column c + 16 the upper one, both counted
/// from the least number.
struct WeightForm {
  int64_t depth = 0;
  int64_t block = 0;  ///< Steps of the depth that share scales; the last block may be shorter.
  bool nibbles = false, is_signed = false;
  bool has_zeros = false;
  float zero = 0;  ///< Of all weights, where has_zeros is false; of 4 bits as they are packed.

  int64_t step_bytes() const { return nibbles ? kWeightPanel / 2 : kWeightPanel; }
  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t scale_bytes() const {
    return kWeightPanel * static_cast<int64_t>(sizeof(float)) * (has_zeros ? 2 : 1);
  }
  int64_t panel_bytes() const { return blocks() * scale_bytes() + depth * step_bytes(); }
};

/// Up to kWeightRows rows and one panel.
struct WeightTile {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const float* block_sums = nullptr;  ///< Of x, [row][block]; null without zero points.
  int rows = 0;
  const std::byte* panel = nullptr;
  float* sums = nullptr;  ///< rows x kWeightPanel: the result.
};

/// Steps [k, k + count) of columns [column, column + width) of a panel.
struct WeightPart {
  const std::byte* panel = nullptr;
  int64_t column = 0, width = 0;
  int64_t k = 0, count = 0;
  /// The weights as a panel of a product (gemm/microkernel.h): floats, or pairs of bf16.
  void* to = nullptr;
  bool pairs = false;
};

/// The functions of one instruction set.
struct WeightFunctions {
  void (*multiply)(const WeightForm& form, const WeightTile& tile);
  void (*unpack)(const WeightForm& form, const WeightPart& part);
};
TENON_BY_ISA(const WeightFunctions&, weight_functions)
const WeightFunctions& weight_functions_avx512bf16();

}  // namespace tenon::cpu
