#include "kernels/cudnn/steps.h"

#include <limits>

namespace tenon::cudnn {
namespace {

using F = PointwiseFunction;

/// Functions that are one node of cuDNN's without options.
struct PlainFunction {
  F function;
  cudnnPointwiseMode_t mode;
};
constexpr PlainFunction kPlain[] = {
    {F::k_abs, CUDNN_POINTWISE_ABS},
    {F::k_exp, CUDNN_POINTWISE_EXP},
    {F::k_log, CUDNN_POINTWISE_LOG},
    {F::k_neg, CUDNN_POINTWISE_NEG},
    {F::k_sqrt, CUDNN_POINTWISE_SQRT},
    {F::k_erf, CUDNN_POINTWISE_ERF},
    {F::k_tanh, CUDNN_POINTWISE_TANH_FWD},
    {F::k_sigmoid, CUDNN_POINTWISE_SIGMOID_FWD},
    {F::k_gelu_erf, CUDNN_POINTWISE_GELU_FWD},
    {F::k_gelu_tanh, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD},
    {F::k_softplus, CUDNN_POINTWISE_SOFTPLUS_FWD},
    {F::k_add, CUDNN_POINTWISE_ADD},
    {F::k_sub, CUDNN_POINTWISE_SUB},
    {F::k_mul, CUDNN_POINTWISE_MUL},
    {F::k_div, CUDNN_POINTWISE_DIV},
    {F::k_max, CUDNN_POINTWISE_MAX},
    {F::k_min, CUDNN_POINTWISE_MIN},
};

const PlainFunction* plain(F function) {
  for (const PlainFunction& row : kPlain)
    if (row.function == function) return &row;
  return nullptr;
}

/// RELU with bounds: clip, and its kin.
PointwiseOptions bounds(double lower, double upper, double slope = 0) {
  PointwiseOptions options;
  options.clips = true;
  options.lower = lower, options.upper = upper, options.slope = slope;
  return options;
}

constexpr double kLargest = std::numeric_limits<float>::max();

bool is_commutative(F function) {
  return function == F::k_add || function == F::k_mul || function == F::k_max ||
         function == F::k_min;
}

}  // namespace

int nodes_of(const RegionStep& step) {
  // Running::append puts the running value first.
  if (step.operand >= 0 && step.value_is_second && !is_commutative(step.function)) return 0;
  if (plain(step.function) != nullptr) return 1;
  switch (step.function) {
    case F::k_relu:
    case F::k_leaky_relu:
    case F::k_clip:
    case F::k_elu:
    case F::k_swish: return 1;
    case F::k_affine: return step.beta != 0 ? 2 : 1;
    case F::k_hard_sigmoid: return 3;
    case F::k_hard_swish: return 4;
    default: return 0;
  }
}

TensorId Running::next() {
  --nodes_;
  value_ = nodes_ == 0 ? result_ : graph_.intermediate(CUDNN_DATA_FLOAT, extents_, strides_);
  return value_;
}

void Running::unary(cudnnPointwiseMode_t mode, const PointwiseOptions& options) {
  const TensorId x = value_;
  graph_.pointwise(mode, x, -1, -1, next(), options);
}

void Running::binary(cudnnPointwiseMode_t mode, TensorId x, TensorId b) {
  graph_.pointwise(mode, x, b, -1, next());
}

TensorId Running::number(double value) {
  return graph_.scalar(static_cast<float>(value), static_cast<int>(extents_.size()));
}

Status Running::append(const RegionStep& step, TensorId operand) {
  if (const PlainFunction* row = plain(step.function)) {
    if (operand < 0) {
      unary(row->mode);
    } else {
      binary(row->mode, value_, operand);
    }
    return {};
  }
  switch (step.function) {
    case F::k_relu: unary(CUDNN_POINTWISE_RELU_FWD); return {};
    case F::k_leaky_relu:
      unary(CUDNN_POINTWISE_RELU_FWD, bounds(0, kLargest, step.alpha));
      return {};
    case F::k_clip: unary(CUDNN_POINTWISE_RELU_FWD, bounds(step.alpha, step.beta)); return {};
    case F::k_elu:
    case F::k_swish: {
      PointwiseOptions options;
      options.coefficient = step.alpha;
      unary(step.function == F::k_elu ? CUDNN_POINTWISE_ELU_FWD : CUDNN_POINTWISE_SWISH_FWD,
            options);
      return {};
    }
    case F::k_affine:
      binary(CUDNN_POINTWISE_MUL, value_, number(step.alpha));
      if (step.beta != 0) binary(CUDNN_POINTWISE_ADD, value_, number(step.beta));
      return {};
    case F::k_hard_sigmoid:
      binary(CUDNN_POINTWISE_MUL, value_, number(step.alpha));
      binary(CUDNN_POINTWISE_ADD, value_, number(step.beta));
      unary(CUDNN_POINTWISE_RELU_FWD, bounds(0, 1));
      return {};
    case F::k_hard_swish: {
      const TensorId x = value_;
      binary(CUDNN_POINTWISE_ADD, x, number(3));
      unary(CUDNN_POINTWISE_RELU_FWD, bounds(0, 6));
      binary(CUDNN_POINTWISE_MUL, value_, x);
      binary(CUDNN_POINTWISE_MUL, value_, number(1.0 / 6));
      return {};
    }
    default: return unsupported("{} in the epilogue", pointwise_info(step.function).name);
  }
}

}  // namespace tenon::cudnn
