#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "device/cpu/isa.h"
#include "ops/pointwise_function.h"

/// Operations on a matrix of float accumulators on its way to memory: a short list of scalar
/// functions, applied while a tile is in registers or in the first-level cache.
namespace tenon::cpu {

/// Types of tensors in CPU kernels; everything is computed in float.
enum class ElementType : uint8_t { f32, bf16 };

constexpr int64_t element_size(ElementType type) {
  return type == ElementType::f32 ? 4 : 2;
}

/// How the second operand of a binary step spreads over the output matrix; `earlier` is a value
/// that a step before made.
enum class OperandKind : uint8_t { none, scalar, per_column, per_row, full, earlier };

/// x = function(x) or function(x, operand), in order.
struct EpilogueStep {
  PointwiseFunction function{};
  OperandKind operand = OperandKind::none;
  ElementType operand_type = ElementType::f32;
  bool operand_first = false;  ///< function(operand, x)
  float alpha = 0.0f;
  float beta = 0.0f;
  /// How many steps ago x was this one's start, and was its operand where that is `earlier`: 0 is
  /// the result of the step before.
  uint8_t from = 0;
  uint8_t back = 0;
  /// Of each pair of columns the function of the first times the second: the last step, behind
  /// which a row has half as many columns.
  bool gates = false;
};

/// How many columns in front of the steps make one of the output.
inline int64_t columns_of_result(std::span<const EpilogueStep> steps) {
  return !steps.empty() && steps.back().gates ? 2 : 1;
}

/// Where a step's operand lies in one run. `row_stride` (in elements) serves `full` operands.
struct EpilogueOperand {
  const void* data = nullptr;
  int64_t row_stride = 0;
};

/// A tile of accumulators to finish. The tile may be the output itself when that is float and has
/// as many columns.
struct FinishTile {
  float* tile = nullptr;
  int64_t tile_stride = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row = 0;  ///< position of the tile in the output matrix, for operands
  int64_t column = 0;
  void* output = nullptr;  ///< of the tile's first element
  int64_t output_stride = 0;
  ElementType output_type = ElementType::f32;
};

/// Applies `steps` to the tile, whose contents are lost, and stores it; `operands` runs parallel to
/// `steps`.
using FinishFunction = void (*)(const FinishTile& tile, std::span<const EpilogueStep> steps,
                                const EpilogueOperand* operands);
TENON_FUNCTION_BY_ISA(FinishFunction, finish)

/// Activations that matrix kernels apply without leaving registers.
enum class RegisterActivation : uint8_t { none, clamp, hard_swish };

/// The part of an epilogue that matrix kernels do in registers: a bias, a residual and an
/// activation, in this order, each optional. `rest` is the index of the first step that is left for
/// a FinishFunction.
/// Steps behind `rest` take no value from before it.
struct RegisterEpilogue {
  int bias = -1;      ///< index of its step
  int residual = -1;  ///< index of its step; its type is the output's
  RegisterActivation activation = RegisterActivation::none;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  int rest = 0;
};

RegisterEpilogue register_epilogue(std::span<const EpilogueStep> steps, ElementType output_type);

}  // namespace tenon::cpu
