#include "kernels/conv/describe.h"

#include <algorithm>

#include "kernels/image.h"
#include "ops/nn.h"
#include "ops/nn_window.h"

namespace tenon::cpu {
namespace {

template <class O>
void describe_axes(const O& op, const Extents& input, const Extents& weights, const Extents& output,
                   ConvProblem& p) {
  const size_t axes = input.size() - 2;
  for (size_t i = 0; i < axes; ++i) {
    const size_t to = 3 - axes + i;
    p.input[to] = input[2 + i];
    p.output[to] = output[2 + i];
    p.kernel[to] = weights[2 + i];
    p.stride[to] = axis_or(op.strides, i, 1);
    p.dilation[to] = axis_or(op.dilations, i, 1);
    p.pad[to] = axis_or(op.pads_begin, i, 0);
    const int64_t window = (p.kernel[to] - 1) * p.dilation[to] + 1;
    if constexpr (std::is_same_v<O, Deconv>) {
      const int64_t full =
          (p.input[to] - 1) * p.stride[to] + axis_or(op.output_padding, i, 0) + window;
      if (op.pad_mode != PadMode::kExplicit || !op.output_shape.empty())
        p.pad[to] = pad_ahead(op.pad_mode, full - p.output[to]);
    } else if (op.pad_mode != PadMode::kExplicit) {
      p.pad[to] = pad_ahead(op.pad_mode, (p.output[to] - 1) * p.stride[to] + window - p.input[to]);
    }
  }
}

Status describe_operands(const Problem& problem, const Operand& input, const Operand& weights,
                         ConvProblem& p) {
  for (const Operand* operand : {&input, &weights, &problem.output()})
    if (!element_type(operand->type))
      return unsupported("type {}; takes f32, bf16", name_of(operand->type));
  if (weights.type != input.type)
    return unsupported("weights of {} with an input of {}", name_of(weights.type),
                       name_of(input.type));
  if (input.rank() < 3 || input.rank() > 5) return unsupported("{} axes", input.rank());
  if (input.count() == 0 || weights.count() == 0) return unsupported("an empty tensor");
  p.input_type = p.weight_type = p.compute = *element_type(input.type);
  p.output_type = *element_type(problem.output().type);
  const auto to = pixel_stride(problem.output());
  if (!to) return unsupported("the output is not channels-last");
  p.output_pixel_stride = *to;
  if (const auto from = pixel_stride(input)) {
    p.input_pixel_stride = *from;
  } else if (input.dense()) {
    p.channels_first_input = true;
  } else {
    return unsupported("the input has gaps");
  }
  return {};
}

}  // namespace

void describe_window(const Conv& conv, const Extents& input, const Extents& weights,
                     const Extents& output, ConvProblem& p) {
  describe_axes(conv, input, weights, output, p);
}

Result<ConvDescription> describe_convolution(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, anchored_region(problem, {.branches = true}));
  const auto* conv = region.anchor.as<Conv>();
  const auto* deconv = region.anchor.as<Deconv>();
  if (!conv && !deconv) return unsupported("not a convolution");
  ConvDescription d;
  d.input = region.anchor_inputs[0], d.weights = region.anchor_inputs[1];
  const Operand &input = problem.input(d.input), &weights = problem.input(d.weights);
  ConvProblem& p = d.conv;
  TENON_TRY(describe_operands(problem, input, weights, p));
  p.batch = input.extents[0];
  p.input_channels = input.extents[1];
  p.output_channels = problem.output().extents[1];
  p.transposed = deconv != nullptr;
  p.weights_change = weights.constant == nullptr;
  if (p.weights_change && !weights.dense()) return unsupported("weights with gaps");
  p.channels_last_weights = p.weights_change && weights.layout == Layout::kChannelsLast;
  p.groups = conv ? conv->groups : deconv->groups;
  p.threads = std::max(1, problem.threads);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.packed = problem.packed;
  if (p.transposed && p.channels_first_input)
    return unsupported("a transposed convolution of a channels-first input");
  const Extents& output = problem.output().extents;
  conv ? describe_axes(*conv, input.extents, weights.extents, output, p)
       : describe_axes(*deconv, input.extents, weights.extents, output, p);
  const int bias = region.anchor_inputs.size() > 2 ? region.anchor_inputs[2] : -1;
  bool one_by_one = false;
  TENON_ASSIGN(d.steps, image_steps(problem, region, bias, one_by_one));
  if (one_by_one) std::swap(d.images, p.batch);
  p.steps = plain_steps(d.steps);
  if (p.steps.size() > kMaxConvSteps) return unsupported("an epilogue of {} steps", p.steps.size());
  return d;
}

void next_image(const ConvDescription& description, ConvArguments& arguments,
                EpilogueOperand* operands) {
  const ConvProblem& p = description.conv;
  const int64_t pixel = p.channels_first_input ? p.input_channels : p.input_pixel_stride;
  arguments.input = static_cast<const char*>(arguments.input) +
                    volume(p.input) * pixel * element_size(p.input_type);
  arguments.output = static_cast<char*>(arguments.output) +
                     volume(p.output) * p.output_pixel_stride * element_size(p.output_type);
  arguments.ahead = {};
  for (size_t i = 0; i < description.steps.size(); ++i) {
    const BoundStep& bound = description.steps[i];
    operands[i].data = static_cast<const char*>(operands[i].data) +
                       bound.image_stride * element_size(bound.step.operand_type);
  }
}

bool may_write_over(const ConvDescription& description, int input) {
  const ConvProblem& p = description.conv;
  if (input == description.input || input == description.weights) return false;
  const int64_t stride = p.output_pixel_stride == 0 ? p.output_channels : p.output_pixel_stride;
  int uses = 0;
  for (const BoundStep& bound : description.steps) {
    if (bound.input != input) continue;
    ++uses;
    if (bound.step.operand != OperandKind::full || bound.row_stride != stride ||
        bound.step.operand_type != p.output_type)
      return false;
  }
  return uses == 1;
}

}  // namespace tenon::cpu
