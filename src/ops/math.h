#pragma once

#include "ops/op_kind.h"
#include "ops/pointwise_function.h"

namespace tenon {

struct Pointwise final : OpBase<Pointwise> {
  TENON_OP_HEADER(Pointwise, "pointwise");
  PointwiseFunction function = PointwiseFunction::k_add;
  double alpha = 0, beta = 0;
  Pointwise() = default;
  explicit Pointwise(PointwiseFunction f, double a = 0, double b = 0)
      : function(f), alpha(a), beta(b) {}
  std::string_view name() const override { return pointwise_info(function).name; }
  /// The function is the operator's name in the text, hence not among the attributes.
  TENON_ATTRIBUTES(alpha, beta);
};

/// Gated linear unit over pairs of the last axis: y[..., i] = function(x[..., 2 i]) * x[..., 2 i +
/// 1], the function a real one of one operand.
struct GatedUnit final : OpBase<GatedUnit> {
  TENON_OP_HEADER(GatedUnit, "gated_unit");
  PointwiseFunction function = PointwiseFunction::k_swish;
  double alpha = 0, beta = 0;
  TENON_ATTRIBUTES(function, alpha, beta);
};

/// Float to integer truncates; float to narrower float rounds to nearest even and, for the 8-bit
/// types, saturates or not.
struct Cast final : OpBase<Cast> {
  TENON_OP_HEADER(Cast, "cast");
  DataType to = DataType::kFloat32;
  bool saturate = true;
  std::string round_mode = "up";  ///< For f8e8m0: up, down, nearest.
  Cast() = default;
  explicit Cast(DataType type) : to(type) {}
  TENON_ATTRIBUTES(to, saturate, round_mode);
};

struct BitCast final : OpBase<BitCast> {
  TENON_OP_HEADER(BitCast, "bit_cast");
  DataType to = DataType::kFloat32;
  TENON_ATTRIBUTES(to);
};

/// Vectors as in numpy.matmul when an operand has rank 1. Integer operands give i32 (i64 for i64).
struct MatMul final : OpBase<MatMul> {
  TENON_OP_HEADER(MatMul, "matmul");
  bool transpose_a = false, transpose_b = false;
  TENON_ATTRIBUTES(transpose_a, transpose_b);
};

struct Einsum final : OpBase<Einsum> {
  TENON_OP_HEADER(Einsum, "einsum");
  std::string equation;
  TENON_ATTRIBUTES(equation);
};

enum class ReduceFunction {
  kSum,
  kProd,
  kMax,
  kMin,
  kMean,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kSumSquare
};
TENON_ENUM_NAMES(ReduceFunction, "sum", "prod", "max", "min", "mean", "l1", "l2", "log_sum",
                 "log_sum_exp", "sum_square")

/// Empty axes reduce over all axes, or none with `empty_is_identity`.
struct Reduce final : OpBase<Reduce> {
  TENON_OP_HEADER(Reduce, "reduce");
  ReduceFunction function = ReduceFunction::kSum;
  std::vector<int64_t> axes;
  bool keep_dims = true;
  bool empty_is_identity = false;
  TENON_ATTRIBUTES(function, axes, keep_dims, empty_is_identity);
};

struct ArgReduce final : OpBase<ArgReduce> {
  TENON_OP_HEADER(ArgReduce, "arg_reduce");
  bool largest = true;
  int64_t axis = 0;
  bool keep_dims = true;
  bool last_index = false;  ///< Among equals the last instead of the first.
  TENON_ATTRIBUTES(largest, axis, keep_dims, last_index);
};

struct TopK final : OpBase<TopK> {
  TENON_OP_HEADER(TopK, "topk");
  bool largest = true;
  int64_t axis = -1;
  bool sorted = true;
  /// Values are softmax(x) along the axis at the chosen places, or with `log` its logarithm.
  bool softmax = false, log = false;
  TENON_ATTRIBUTES(largest, axis, sorted, softmax, log);
};

struct Cumulative final : OpBase<Cumulative> {
  TENON_OP_HEADER(Cumulative, "cumulative");
  bool product = false, exclusive = false, reverse = false;
  TENON_ATTRIBUTES(product, exclusive, reverse);
};

struct Det final : OpBase<Det> {
  TENON_OP_HEADER(Det, "det");
};

/// Inputs x, scale, zero point. The scale is a scalar, a vector along `axis`, or, with block_size >
/// 0, has x's rank with the axis divided by block_size. Rounds to nearest even.
struct Quantize final : OpBase<Quantize> {
  TENON_OP_HEADER(Quantize, "quantize");
  int64_t axis = 1, block_size = 0;
  DataType to = DataType::kInt8;
  bool saturate = true;
  TENON_ATTRIBUTES(axis, block_size, to, saturate);
};

struct Dequantize final : OpBase<Dequantize> {
  TENON_OP_HEADER(Dequantize, "dequantize");
  int64_t axis = 1, block_size = 0;
  DataType to = DataType::kFloat32;
  TENON_ATTRIBUTES(axis, block_size, to);
};

/// ONNX DynamicQuantizeLinear: outputs y (u8), scale, zero point (u8).
struct DynamicQuantize final : OpBase<DynamicQuantize> {
  TENON_OP_HEADER(DynamicQuantize, "dynamic_quantize");
};

}  // namespace tenon
