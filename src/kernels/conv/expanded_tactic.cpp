#include <algorithm>
#include <optional>

#include "kernels/conv/describe.h"
#include "kernels/conv/expanded.h"
#include "kernels/image.h"
#include "ops/ops.h"

namespace tenon::tactics::conv_expanded {
namespace {

/// A convolution with the functions behind it. Numbers are problem inputs; -1: no bias.
struct Layer {
  const Conv* conv = nullptr;
  int weights = -1, bias = -1;
  std::vector<cpu::EpilogueStep> steps;
};

/// The region { conv; functions; conv; functions } taken apart.
struct Description {
  int image = -1;
  Layer layers[2];
  cpu::ConvProblem problems[2];
};

/// The layer that ends in `value`, which becomes its input.
Result<Layer> take_layer(const Value*& value) {
  Layer layer;
  auto functions = cpu::take_functions(value);
  if (!functions) return unsupported("an operand between the two");
  layer.steps = std::move(*functions);
  const Node* node = value->producer();
  layer.conv = node == nullptr ? nullptr : node->as<Conv>();
  if (layer.conv == nullptr) return unsupported("not two convolutions");
  layer.weights = input_number(node->input(1));
  layer.bias = node->has_input(2) ? input_number(node->input(2)) : -1;
  if (layer.weights < 0 || (node->has_input(2) && layer.bias < 0))
    return unsupported("weights computed inside the region");
  if (layer.bias >= 0)
    layer.steps.insert(layer.steps.begin(),
                       {PointwiseFunction::k_add, cpu::OperandKind::per_column});
  value = node->input(0);
  return layer;
}

Result<cpu::ElementType> type_of(const Operand& operand) {
  const auto type = cpu::element_type(operand.type);
  if (!type.has_value()) return unsupported("type {}; takes f32, bf16", name_of(operand.type));
  return *type;
}

Result<cpu::ConvProblem> conv_problem(const Problem& problem, const Layer& layer,
                                      const Extents& input, const Extents& output) {
  const Operand& weights = problem.input(layer.weights);
  if (weights.constant == nullptr) return unsupported("the weights are not constant");
  if (layer.bias >= 0 && problem.input(layer.bias).type != DataType::kFloat32)
    return unsupported("a bias that is not f32");
  cpu::ConvProblem p;
  TENON_ASSIGN(p.weight_type, type_of(weights));
  p.input_type = p.output_type = p.compute = p.weight_type;
  p.batch = input[0];
  p.input_channels = p.input_pixel_stride = input[1];
  p.output_channels = p.output_pixel_stride = output[1];
  p.groups = layer.conv->groups;
  p.steps = layer.steps;
  p.threads = std::max(1, problem.threads);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  cpu::describe_window(*layer.conv, input, weights.extents, output, p);
  return p;
}

Result<Description> describe(const Problem& problem) {
  const Operation& node = problem.operation;
  if (!node.is<Fused>() || node.bodies()[0]->outputs().size() != 1)
    return unsupported("not a region with one output");
  Description d;
  const Value* value = node.bodies()[0]->outputs()[0];
  TENON_ASSIGN(d.layers[1], take_layer(value));
  TENON_ASSIGN(d.layers[0], take_layer(value));
  d.image = input_number(value);
  if (d.image < 0) return unsupported("more than two convolutions");
  const Operand &x = problem.input(d.image), &y = problem.output();
  const auto from = pixel_stride(x), to = pixel_stride(y);
  if (!from || !to || x.rank() != 4) return unsupported("not channels-last images");
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty image");
  if (x.type != DataType::kFloat32 || y.type != DataType::kFloat32)
    return unsupported("an image that is not f32");
  Extents between = x.extents;
  between[1] = problem.input(d.layers[0].weights).extents[0];
  TENON_ASSIGN(d.problems[0], conv_problem(problem, d.layers[0], x.extents, between));
  TENON_ASSIGN(d.problems[1], conv_problem(problem, d.layers[1], between, y.extents));
  d.problems[0].input_pixel_stride = *from;
  d.problems[0].packed = problem.packed;
  d.problems[1].output_pixel_stride = *to;
  TENON_TRY(cpu::ExpandedDepthwise::check(d.problems[0], d.problems[1]));
  return d;
}

class ExpandedKernel final : public Kernel {
 public:
  ExpandedKernel(cpu::ExpandedDepthwise both, Description description)
      : both_(std::move(both)), d_(std::move(description)) {}

  Status run(const LaunchArguments& arguments) const override {
    const auto floats = [&](int input) {
      return input < 0 ? nullptr : static_cast<const float*>(arguments.inputs[input]);
    };
    if (arguments.queue.pool->threads() > d_.problems[0].threads)
      return internal_error("a kernel made for {} threads runs on {}", d_.problems[0].threads,
                            arguments.queue.pool->threads());
    both_.run({floats(d_.image), static_cast<float*>(arguments.outputs[0]),
               floats(d_.layers[0].bias), floats(d_.layers[1].bias), arguments.ahead},
              *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return both_.scratch_bytes(); }
  bool uses_input(int input) const override { return !packs_input(input); }
  std::span<const std::byte> packed() const override { return both_.packed(); }
  bool packs_input(int input) const override {
    return input == d_.layers[0].weights || input == d_.layers[1].weights;
  }
  size_t fetch_capacity() const override { return both_.fetch_capacity(); }

 private:
  cpu::ExpandedDepthwise both_;
  Description d_;
};

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(Description d, describe(problem));
  const auto bytes = [&](const Layer& layer) {
    return problem.input(layer.weights).constant->bytes();
  };
  TENON_ASSIGN(cpu::ExpandedDepthwise both,
               cpu::ExpandedDepthwise::prepare(d.problems[0], d.problems[1], bytes(d.layers[0]),
                                               bytes(d.layers[1])));
  return make_kernel<ExpandedKernel>(std::move(both), std::move(d));
}

}  // namespace tenon::tactics::conv_expanded
