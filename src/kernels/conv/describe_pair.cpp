#include "kernels/conv/describe_pair.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/image.h"
#include "ops/nn_window.h"

namespace tenon::cpu {
namespace {

/// The layer that ends in `value`, which becomes its input.
Result<PairedLayer> take_layer(const Value*& value) {
  PairedLayer layer;
  auto functions = take_functions(value);
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
    layer.steps.insert(layer.steps.begin(), {PointwiseFunction::k_add, OperandKind::per_column});
  value = node->input(0);
  return layer;
}

Result<ElementType> type_of(const Operand& operand) {
  const auto type = element_type(operand.type);
  if (!type.has_value()) return unsupported("type {}; takes f32, bf16", name_of(operand.type));
  return *type;
}

Result<ConvProblem> conv_problem(const Problem& problem, const PairedLayer& layer,
                                 const Extents& input, const Extents& output) {
  const Operand& weights = problem.input(layer.weights);
  if (weights.constant == nullptr) return unsupported("the weights are not constant");
  if (layer.bias >= 0 && problem.input(layer.bias).type != DataType::kFloat32)
    return unsupported("a bias that is not f32");
  ConvProblem p;
  TENON_ASSIGN(p.weight_type, type_of(weights));
  p.input_type = p.output_type = p.compute = p.weight_type;
  p.batch = input[0];
  p.input_channels = p.input_pixel_stride = input[1];
  p.output_channels = p.output_pixel_stride = output[1];
  p.groups = layer.conv->groups;
  p.steps = layer.steps;
  p.threads = std::max(1, problem.threads);
  p.isa = isa_up_to(problem.isa_limit);
  describe_window(*layer.conv, input, weights.extents, output, p);
  return p;
}

/// The first convolution's own output.
Extents between(const Conv& conv, const Extents& input, const Extents& weights) {
  Extents extents = {input[0], weights[0]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t stride = axis_or(conv.strides, i, 1);
    const int64_t reach = (weights[2 + i] - 1) * axis_or(conv.dilations, i, 1) + 1;
    const int64_t room =
        input[2 + i] + axis_or(conv.pads_begin, i, 0) + axis_or(conv.pads_end, i, 0) - reach;
    extents.push_back(conv.pad_mode == PadMode::kExplicit ? room / stride + 1
                                                          : ceil_div(input[2 + i], stride));
  }
  return extents;
}

/// Where the image and the result lie.
Status describe_places(const Operand& x, const Operand& y, bool stem, ConvPair& d) {
  const auto from = pixel_stride(x), to = pixel_stride(y);
  if (!to || x.rank() != 4) return unsupported("not channels-last images");
  if (stem ? !x.dense() || x.layout != Layout::kRowMajor : !from.has_value())
    return unsupported("an image that is not channels-{}", stem ? "first" : "last");
  if (!stem) d.problems[0].input_pixel_stride = *from;
  d.problems[0].channels_first_input = stem;
  d.problems[1].output_pixel_stride = *to;
  return {};
}

}  // namespace

Result<ConvPair> describe_pair(const Problem& problem, bool stem) {
  const Operation& node = problem.operation;
  if (!node.is<Fused>() || node.bodies()[0]->outputs().size() != 1)
    return unsupported("not a region with one output");
  ConvPair d;
  const Value* value = node.bodies()[0]->outputs()[0];
  TENON_ASSIGN(d.layers[1], take_layer(value));
  TENON_ASSIGN(d.layers[0], take_layer(value));
  d.image = input_number(value);
  if (d.image < 0) return unsupported("more than two convolutions");
  const Operand &x = problem.input(d.image), &y = problem.output();
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty image");
  if (x.type != DataType::kFloat32 || y.type != DataType::kFloat32 || x.rank() != 4)
    return unsupported("an image that is not f32");
  const Extents& weights = problem.input(d.layers[0].weights).extents;
  if (weights.size() != 4) return unsupported("not an image");
  const Extents middle = between(*d.layers[0].conv, x.extents, weights);
  TENON_ASSIGN(d.problems[0], conv_problem(problem, d.layers[0], x.extents, middle));
  TENON_ASSIGN(d.problems[1], conv_problem(problem, d.layers[1], middle, y.extents));
  TENON_TRY(describe_places(x, y, stem, d));
  d.problems[0].packed = problem.packed;
  return d;
}

const void* weights_of(const Problem& problem, const PairedLayer& layer) {
  return problem.input(layer.weights).constant->bytes();
}

}  // namespace tenon::cpu
