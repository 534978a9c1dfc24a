// Quantization moves towards the start, in front of operators that only move elements or choose the
// largest (rounding keeps the order): these then work on bytes, and it joins the operator that
// computed them. A Relu or Clip in front of it goes where the range of the bytes clamps as well.
// Must run before cancel_quantize.
#include <limits>
#include <optional>
#include <utility>

#include "ops/ops.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// Operators that keep all elements: quantizing elements that are dropped later would be wasted.
bool commutes(const Node& node) {
  if (const auto* pool = node.as<Pool>())
    return pool->function == PoolFunction::kMax && node.outputs().size() == 1;
  return is_reshape(&node) || node.is<Transpose>() || node.is<Concat>() ||
         node.is<DepthToSpace>() || node.is<SpaceToDepth>();
}

/// The value as the Quantize gives it.
Value* quantized(Graph& graph, Value* value, const Node& like) {
  std::vector<Value*> inputs = like.inputs();
  inputs[0] = value;
  return add_op(graph, like.op->clone(), std::move(inputs), like);
}

bool rises(const Node& quantize) {
  const auto scale = scalar_of(quantize.input(1));
  return scale.has_value() && *scale > 0;
}

/// Whether it moved; its replacement goes to `moved`.
bool hoist(Graph& graph, Node& quantize, std::vector<Node*>& moved) {
  if (!is_per_tensor(quantize) || !is_byte(quantized_type(quantize)) || !rises(quantize))
    return false;
  Value* value = quantize.input(0);
  Node* before = value->producer();
  if (before == nullptr || !commutes(*before) ||
      (before->is<Pool>() && !is_byte_integer(quantized_type(quantize))) ||
      only_user(graph, value) != &quantize)
    return false;
  if (graph.is_output(quantize.output())) return false;
  const int operands = before->is<Concat>() ? static_cast<int>(before->inputs().size()) : 1;
  for (int i = 0; i < operands; ++i) {
    before->set_input(i, quantized(graph, before->input(i), quantize));
    moved.push_back(before->input(i)->producer());
  }
  graph.replace_uses(quantize.output(), value);
  value->type.type = quantized_type(quantize);
  // Nothing else uses its input: it is dead, and must not count as a use.
  graph.erase(&quantize);
  return true;
}

/// Range that a Relu or Clip lets through: least and largest number.
std::optional<std::pair<double, double>> bounds_of(const Node& node) {
  const auto* pointwise = node.as<Pointwise>();
  if (pointwise == nullptr) return std::nullopt;
  constexpr double kAnything = std::numeric_limits<double>::infinity();
  if (pointwise->function == PointwiseFunction::k_relu) return std::pair(0.0, kAnything);
  if (pointwise->function == PointwiseFunction::k_clip)
    return std::pair(pointwise->alpha, pointwise->beta);
  return std::nullopt;
}

/// Quantization that reaches no further than the Relu or Clip before it does its work.
bool takes_clamp(Graph& graph, Node& quantize) {
  const Node* clamp = quantize.input(0)->producer();
  const auto bounds = clamp == nullptr ? std::nullopt : bounds_of(*clamp);
  if (!bounds.has_value() || !is_per_tensor(quantize) || !rises(quantize) ||
      !is_byte_integer(quantized_type(quantize)) ||
      only_user(graph, quantize.input(0)) != &quantize)
    return false;
  const bool is_signed = quantized_type(quantize) == DataType::kInt8;
  const double scale = *scalar_of(quantize.input(1)),
               zero = static_cast<double>(zero_point_of(quantize));
  if (((is_signed ? -128 : 0) - zero) * scale < bounds->first ||
      ((is_signed ? 127 : 255) - zero) * scale > bounds->second)
    return false;
  quantize.set_input(0, clamp->input(0));
  add_origins(quantize, *clamp);
  return true;
}

}  // namespace

bool hoist_quantize(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Node*> open = nodes_of(graph, [&](const Node& node) {
    return node.is<Quantize>() && !node.output()->uses().empty();
  });
  // A node that it moves over may have another in front.
  while (!open.empty()) {
    Node& quantize = *open.back();
    open.pop_back();
    const std::string name = quantize.name;
    while (context.allows(quantize) && takes_clamp(graph, quantize)) {
      context.applied(name + " clamps as the node before it did");
      changed = true;
    }
    if (!context.allows(quantize) || !hoist(graph, quantize, open)) continue;
    context.applied(name + " moves to the front");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
