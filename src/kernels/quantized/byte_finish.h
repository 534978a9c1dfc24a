#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "device/cpu/isa.h"
#include "kernels/quantized/byte_product.h"
#include "ops/pointwise_function.h"

/// The operations on sums of products of bytes on their way to memory.
namespace tenon::cpu {

enum class ByteType : uint8_t { f32, i8, u8 };
constexpr int64_t byte_type_size(ByteType type) {
  return type == ByteType::f32 ? 4 : 1;
}

/// How the operand of a step spreads: one number a column, or one of its own for each element.
enum class ByteOperand : uint8_t { none, columns, full };

/// One step over a row of floats x.
struct ByteStep {
  enum class Kind : uint8_t {
    clamp,     ///< into [low, high]
    round,     ///< to bytes and back: the nearest of low .. high to x * inverse, times scale; with
               ///< columns times the number of the column, and the column's second one added
    add,       ///< the operand
    function,  ///< function(x), or of x and the operand
  };
  Kind kind = Kind::clamp;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  float inverse = 1.0f, scale = 1.0f;
  PointwiseFunction function{};
  float alpha = 0.0f, beta = 0.0f;
  bool operand_first = false;
  ByteOperand operand = ByteOperand::none;
  ByteType type = ByteType::f32;  ///< of a full operand, which stands for
  float operand_scale = 1.0f;     ///< (operand - operand_zero) * operand_scale
  float operand_zero = 0.0f;
};

/// Where a step's operand lies; of a full one the row stride in elements. Behind a rounding,
/// columns have second numbers that far from the first.
struct ByteStepOperand {
  const void* data = nullptr;
  int64_t row_stride = 0;
};

/// A tile of sums to finish: x = sum * scale + bias, the steps, and the store.
struct ByteFinish {
  const int32_t* sums;  ///< rows x kBytePanel
  int64_t rows = 0, columns = 0;
  const float *scales, *biases;  ///< kBytePanel each
  std::span<const ByteStep> steps;
  const ByteStepOperand* operands;  ///< of each step, at the tile's first element
  void* output;                     ///< of the tile's first element
  int64_t output_stride = 0;
  ByteType type = ByteType::f32;
  /// Bytes are the nearest of low .. high to x * inverse, and the zero point.
  float inverse = 1.0f, low = 0.0f, high = 0.0f;
  float zero = 0.0f;
  bool is_bounded = false;  ///< Numbers that become bytes are below ByteLimits::kLarge.
};

using ByteFinishFunction = void (*)(const ByteFinish& finish);
TENON_FUNCTION_BY_ISA(ByteFinishFunction, byte_finish)

}  // namespace tenon::cpu
