#include <algorithm>

#include "kernels/conv/describe.h"
#include "kernels/conv/pooled_stem.h"
#include "kernels/cpu_tactic.h"
#include "kernels/image.h"
#include "ops/nn_window.h"
#include "ops/ops.h"

namespace tenon::tactics::conv_pooled_stem {
namespace {

/// The region { conv; functions; max pooling } taken apart. Numbers are problem inputs; -1: no
/// bias.
struct Description {
  int image = -1, weights = -1, bias = -1;
  cpu::ConvProblem conv;
  cpu::PoolWindow window;
};

Result<cpu::PoolWindow> window_of(const Node* node, const Extents& output) {
  const auto* pool = node == nullptr ? nullptr : node->as<Pool>();
  if (pool == nullptr || pool->function != PoolFunction::kMax || node->outputs().size() != 1)
    return unsupported("not max pooling");
  if (pool->pad_mode != PadMode::kExplicit || pool->kernel.size() != 2 ||
      axis_or(pool->dilations, 0, 1) != 1 || axis_or(pool->dilations, 1, 1) != 1)
    return unsupported("pooling with SAME padding or dilation");
  cpu::PoolWindow window;
  for (size_t i = 0; i < 2; ++i) {
    window.kernel[i] = pool->kernel[i];
    window.stride[i] = axis_or(pool->strides, i, 1);
    window.pad[i] = axis_or(pool->pads_begin, i, 0);
    window.output[i] = output[2 + i];
  }
  return window;
}

/// The convolution's own output.
Extents convolved(const Conv& conv, const Extents& input, const Extents& weights) {
  Extents extents = {input[0], weights[0]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = (weights[2 + i] - 1) * axis_or(conv.dilations, i, 1) + 1;
    const int64_t room =
        input[2 + i] + axis_or(conv.pads_begin, i, 0) + axis_or(conv.pads_end, i, 0) - reach;
    extents.push_back(room / axis_or(conv.strides, i, 1) + 1);
  }
  return extents;
}

Status describe_types(const Problem& problem, Description& d) {
  const Operand &x = problem.input(d.image), &y = problem.output();
  const Operand& weights = problem.input(d.weights);
  const auto type = cpu::element_type(x.type);
  if (!type || x.type != y.type || x.type != weights.type)
    return unsupported("{} by {} to {}; takes f32 or bf16 for all", name_of(x.type),
                       name_of(weights.type), name_of(y.type));
  if (weights.constant == nullptr) return unsupported("the weights are not constant");
  if (!x.dense() || x.layout != Layout::kRowMajor || x.rank() != 4)
    return unsupported("not a channels-first image");
  const auto stride = pixel_stride(y);
  if (!stride || x.count() == 0 || y.count() == 0) return unsupported("not channels-last");
  if (d.bias >= 0 && problem.input(d.bias).constant == nullptr)
    return unsupported("the bias is not constant");
  if (d.bias >= 0 && !cpu::element_type(problem.input(d.bias).type))
    return unsupported("the bias is neither f32 nor bf16");
  d.conv.input_type = d.conv.weight_type = d.conv.compute = d.conv.output_type = *type;
  d.conv.output_pixel_stride = *stride;
  d.conv.channels_first_input = true;
  return {};
}

/// Everything between `value`, the pooling's input, and the region's inputs.
Status describe_conv(const Problem& problem, const Value* value, Description& d) {
  const auto functions = cpu::take_functions(value);
  if (!functions) return unsupported("an operand before the pooling");
  const Node* node = value->producer();
  const auto* conv = node == nullptr ? nullptr : node->as<Conv>();
  if (conv == nullptr || conv->pad_mode != PadMode::kExplicit) return unsupported("no convolution");
  d.image = input_number(node->input(0)), d.weights = input_number(node->input(1));
  d.bias = node->has_input(2) ? input_number(node->input(2)) : -1;
  if (d.image < 0 || d.weights < 0 || (node->has_input(2) && d.bias < 0))
    return unsupported("operands computed inside the region");
  TENON_TRY(describe_types(problem, d));
  const Extents &input = problem.input(d.image).extents,
                &weights = problem.input(d.weights).extents;
  d.conv.batch = input[0];
  d.conv.input_channels = input[1];
  d.conv.output_channels = weights[0];
  d.conv.groups = conv->groups;
  d.conv.threads = std::max(1, problem.threads);
  d.conv.isa = cpu::isa_up_to(problem.isa_limit);
  d.conv.packed = problem.packed;
  if (d.bias >= 0) d.conv.steps.push_back({PointwiseFunction::k_add, cpu::OperandKind::per_column});
  d.conv.steps.insert(d.conv.steps.end(), functions->begin(), functions->end());
  cpu::describe_window(*conv, input, weights, convolved(*conv, input, weights), d.conv);
  return {};
}

Result<Description> describe(const Problem& problem) {
  const Operation& node = problem.operation;
  if (!node.is<Fused>() || node.bodies()[0]->outputs().size() != 1)
    return unsupported("not a region with one output");
  Description d;
  const Node* pool = node.bodies()[0]->outputs()[0]->producer();
  TENON_ASSIGN(d.window, window_of(pool, problem.output().extents));
  TENON_TRY(describe_conv(problem, pool->input(0), d));
  if (!cpu::PooledStem::fits(d.conv, d.window))
    return unsupported("not a convolution of a channels-first image with few channels");
  return d;
}

std::vector<float> bias_of(const Problem& problem, const Description& d) {
  if (d.bias < 0) return {};
  const Tensor& tensor = *problem.input(d.bias).constant;
  std::vector<float> bias(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < bias.size(); ++i)
    bias[i] = static_cast<float>(tensor.as_double(static_cast<int64_t>(i)));
  return bias;
}

class PooledStemKernel final : public Kernel {
 public:
  PooledStemKernel(const Problem& problem, cpu::PooledStem both, Description description)
      : both_(std::move(both)), d_(std::move(description)), bias_(bias_of(problem, d_)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), d_.conv.threads));
    cpu::EpilogueOperand operands[cpu::kMaxConvSteps];
    if (d_.bias >= 0) operands[0].data = bias_.data();
    both_.run({arguments.inputs[d_.image], nullptr, arguments.outputs[0], operands, {}},
              *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return both_.scratch_bytes(); }
  bool uses_input(int input) const override { return input == d_.image; }
  std::span<const std::byte> packed() const override { return both_.packed(); }
  bool packs_input(int input) const override { return input == d_.weights; }

 private:
  cpu::PooledStem both_;
  Description d_;
  std::vector<float> bias_;
};

Result<std::unique_ptr<Kernel>> make(const Problem& problem, Description d) {
  TENON_ASSIGN(
      cpu::PooledStem both,
      cpu::PooledStem::prepare(d.conv, d.window, problem.input(d.weights).constant->bytes()));
  return make_kernel<PooledStemKernel>(problem, std::move(both), std::move(d));
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make)

}  // namespace tenon::tactics::conv_pooled_stem
