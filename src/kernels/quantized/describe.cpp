#include "kernels/quantized/describe.h"

#include <algorithm>

#include "kernels/image.h"
#include "kernels/quantized/describe_steps.h"
#include "kernels/strides.h"
#include "ops/math.h"
#include "ops/nn.h"
#include "ops/nn_window.h"

namespace tenon::cpu {
namespace {

/// Some weight of this type, without its zero point, might be no i8.
bool has_wide_weights(const Problem& problem, const QuantizedRegion& region) {
  const int64_t middle = problem.input(region.weights).type == DataType::kUInt8 ? 128 : 0;
  const int zero = region.weight_scaling.zero;
  if (zero < 0) return middle != 0;
  const Tensor& zeros = *problem.input(zero).constant;
  for (int64_t i = 0; i < zeros.count(); ++i)
    if (zeros.as_int64(i) != middle) return true;
  return false;
}

/// The scale and zero point of the activations, as far as they are known.
Status describe_scaling(const Problem& problem, const QuantizedRegion& region, ByteDescription& d) {
  const int scale = region.x_scaling.scale, zero = region.x_scaling.zero;
  if (problem.input(scale).constant == nullptr) {
    if (problem.input(scale).type != DataType::kFloat32 || problem.input(scale).count() != 1)
      return unsupported("a computed scale that is not one f32");
    d.computed_scale = scale;
    d.problem.computed_scaling = true;
  }
  if (zero < 0) return {};
  if (problem.input(zero).constant != nullptr) {
    d.problem.zero = static_cast<int32_t>(problem.input(zero).constant->as_int64(0));
    return {};
  }
  if (problem.input(zero).type != problem.input(region.x).type || problem.input(zero).count() != 1)
    return unsupported("a computed zero point that is not one byte");
  d.computed_zero = zero;
  d.problem.computed_scaling = true;
  return {};
}

/// Type and zero point of the activations.
Status describe_input(const Problem& problem, const QuantizedRegion& region, ByteDescription& d) {
  const Operand& x = problem.input(region.x);
  if (x.type != DataType::kInt8 && x.type != DataType::kUInt8)
    return unsupported("activations that are no bytes");
  if (x.count() == 0 || problem.output().count() == 0) return unsupported("an empty tensor");
  d.input = region.x, d.weights = region.weights, d.weight_zero = region.weight_scaling.zero;
  const Operand& w = problem.input(region.weights);
  if (w.constant == nullptr) return unsupported("the weights are not constant");
  if (w.type != DataType::kInt8 && w.type != DataType::kUInt8)
    return unsupported("weights that are no bytes");
  d.problem.is_signed = x.type == DataType::kInt8;
  d.problem.wide_weights = has_wide_weights(problem, region);
  TENON_TRY(describe_scaling(problem, region, d));
  d.problem.threads = std::max(1, problem.threads);
  d.problem.isa = isa_up_to(problem.isa_limit);
  d.problem.packed = problem.packed;
  return {};
}

Status describe_axes(const Conv& conv, const Problem& problem, const Extents& input,
                     const Extents& weights, ByteProblem& p) {
  const Extents& output = problem.output().extents;
  const size_t axes = input.size() - 2;
  if (axes < 1 || axes > 3) return unsupported("{} spatial axes", axes);
  for (size_t i = 0; i < axes; ++i) {
    const size_t to = 3 - axes + i;
    p.input[to] = input[2 + i], p.output[to] = output[2 + i], p.kernel[to] = weights[2 + i];
    p.stride[to] = axis_or(conv.strides, i, 1), p.dilation[to] = axis_or(conv.dilations, i, 1);
    p.pad[to] = axis_or(conv.pads_begin, i, 0);
    if (conv.pad_mode == PadMode::kExplicit) continue;
    const int64_t reach = (p.kernel[to] - 1) * p.dilation[to] + 1;
    p.pad[to] = pad_ahead(conv.pad_mode, (p.output[to] - 1) * p.stride[to] + reach - p.input[to]);
  }
  return {};
}

/// Elements from one row of a matrix to the next, the axes before its last two joined with the
/// rows.
Result<int64_t> row_stride(const Operand& operand) {
  const int rank = operand.rank();
  const std::vector<int64_t> strides = strides_of(operand);
  if (operand.extents[rank - 1] != 1 && strides[rank - 1] != 1)
    return unsupported("columns that lie apart");
  const int64_t stride =
      operand.extents[rank - 2] == 1 ? operand.extents[rank - 1] : strides[rank - 2];
  int64_t expected = stride * operand.extents[rank - 2];
  for (int i = rank - 3; i >= 0; --i) {
    if (operand.extents[i] != 1 && strides[i] != expected)
      return unsupported("rows at unequal distances");
    expected *= operand.extents[i];
  }
  return stride;
}

}  // namespace

Result<ByteDescription> describe_byte_convolution(const Problem& problem, bool depthwise) {
  TENON_ASSIGN(const QuantizedRegion region, quantized_region(problem, true));
  const auto* conv = region.anchor.as<Conv>();
  if (conv == nullptr) return unsupported("not a convolution");
  const int64_t channels = problem.input(region.x).extents[1];
  ByteDescription d;
  TENON_TRY(describe_input(problem, region, d));
  const bool has_lines = conv->groups == channels && conv->groups > 1 &&
                         problem.output().extents[1] == channels && !d.problem.computed_scaling;
  if (depthwise != has_lines)
    return unsupported("{} groups of {} channels", conv->groups, channels);
  const Operand &x = problem.input(region.x), &y = problem.output();
  ByteProblem& p = d.problem;
  p.batch = x.extents[0], p.input_channels = x.extents[1], p.output_channels = y.extents[1];
  p.groups = conv->groups;
  TENON_TRY(describe_axes(*conv, problem, x.extents, problem.input(region.weights).extents, p));
  const auto to = pixel_stride(y);
  if (!to) return unsupported("the output is not channels-last");
  p.output_pixel_stride = *to;
  if (const auto from = pixel_stride(x)) {
    p.input_pixel_stride = *from;
  } else if (x.dense()) {
    p.channels_first = true;
  } else {
    return unsupported("the input has gaps");
  }
  const auto rows = [](const Operand& operand) -> Result<int64_t> {
    const auto stride = pixel_stride(operand);
    if (!stride) return unsupported("an operand that is not channels-last");
    return *stride;
  };
  TENON_TRY(describe_steps(problem, region, 1, rows, d));
  return d;
}

Result<ByteDescription> describe_byte_matmul(const Problem& problem) {
  TENON_ASSIGN(const QuantizedRegion region, quantized_region(problem, true));
  const auto* matmul = region.anchor.as<MatMul>();
  if (matmul == nullptr) return unsupported("not a matmul");
  ByteDescription d;
  TENON_TRY(describe_input(problem, region, d));
  const Operand &x = problem.input(region.x), &w = problem.input(region.weights);
  const Operand& y = problem.output();
  if (matmul->transpose_a || w.rank() != 2 || x.rank() < 2)
    return unsupported("operands that are transposed, vectors or many matrices");
  ByteProblem& p = d.problem;
  p.output_channels = y.extents.back(), p.input_channels = x.extents.back();
  p.input[2] = p.output[2] = x.count() / x.extents.back();
  d.weights_across = !matmul->transpose_b;
  TENON_ASSIGN(p.input_pixel_stride, row_stride(x));
  TENON_ASSIGN(p.output_pixel_stride, row_stride(y));
  const auto rows = [](const Operand& operand) { return row_stride(operand); };
  TENON_TRY(describe_steps(problem, region, y.rank() - 1, rows, d));
  return d;
}

}  // namespace tenon::cpu
