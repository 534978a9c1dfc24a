#pragma once

#include <optional>
#include <vector>

#include "kernels/region.h"

namespace tenon {

/// Scale and zero point of a tensor: problem inputs, constants; -1: a zero point of 0.
struct Scaling {
  int scale = -1, zero = -1;
};

/// An operand that is dequantized inside a region: the problem input of its bytes.
struct QuantizedOperand {
  int input = -1;
  Scaling scaling;
};
/// The operand of which `value` is the dequantized form.
Result<QuantizedOperand> quantized_operand(const Problem& problem, const Value* value);
/// That of a Quantize or Dequantize, both numbers constants.
Result<Scaling> known_scaling(const Problem& problem, const Node& node);

/// One step behind the anchor of a quantized region.
struct QuantizedStep {
  /// Rounds to bytes and back, with the scaling below; else a scalar function.
  bool rounds = false;
  DataType rounded_type = DataType::kInt8;
  RegionStep function;
  /// That of the function's operand, where it is dequantized on the way.
  std::optional<Scaling> scaling;
};

/// What the pass fuse_quantized makes: a convolution or matmul of dequantized bytes, steps over its
/// output, and mostly a quantization. Casts between reals at its borders only say what types its
/// operands and its result have.
struct QuantizedRegion {
  Operation anchor;
  int x = -1, weights = -1;  ///< Problem inputs: bytes.
  Scaling x_scaling, weight_scaling;
  /// x is real, and the region quantizes it to that type first.
  std::optional<DataType> rounded_x;
  int bias = -1;  ///< The convolution's own.
  std::vector<QuantizedStep> steps;
  std::optional<Scaling> output;  ///< Absent: the result is real.
  /// Max pooling of the result's bytes, which ends the region.
  Operation pooling;
};

/// Fails, with the reason, for other nodes. All scales and zero points are constants, but for those
/// of x where they `may_be_computed`.
Result<QuantizedRegion> quantized_region(const Problem& problem, bool may_be_computed = false);
/// Likewise, of regions that end in pooling, and of no others.
Result<QuantizedRegion> pooled_region(const Problem& problem);

}  // namespace tenon
