// Quantization moves towards the start, in front of operators that only move elements or choose the
// largest (rounding keeps the order): these then work on bytes, and it joins the operator that
// computed them. So do scalar functions of bytes that are quantized again. A Relu or Clip in front
// of it goes where the range of the bytes clamps as well. Must run before cancel_quantize.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "ops/ops.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

bool chooses_nearest(const Resize& resize) {
  return resize.mode == ResizeMode::kNearest &&
         resize.coordinates != CoordinateMode::kTfCropAndResize;
}

/// Operators that keep all elements: quantizing elements that are dropped later would be wasted. A
/// resize to the nearest element repeats them.
bool commutes(const Node& node) {
  if (const auto* pool = node.as<Pool>())
    return pool->function == PoolFunction::kMax && node.outputs().size() == 1;
  if (const auto* resize = node.as<Resize>()) return chooses_nearest(*resize);
  return is_reshape(&node) || node.is<Transpose>() || node.is<Concat>() ||
         node.is<DepthToSpace>() || node.is<SpaceToDepth>();
}

/// The value as the Quantize gives it.
Value* quantized(Graph& graph, Value* value, const Node& like) {
  std::vector<Value*> inputs = like.inputs();
  inputs[0] = value;
  return add_op(graph, like.op->clone(), std::move(inputs), like);
}

bool is_like(const Node& quantize, const Use& use) {
  return use.node->is<Quantize>() && use.index == 0 && same_scaling(quantize, *use.node) &&
         is_per_tensor(*use.node);
}

/// Whether all that reads the value quantizes it as `quantize` does.
bool is_quantized_only(const Graph& graph, const Value* value, const Node& quantize) {
  return !graph.is_output(value) && !value->uses().empty() &&
         std::ranges::all_of(value->uses(), [&](const Use& use) {
           return is_like(quantize, use) && !graph.is_output(use.node->output());
         });
}

/// The Quantize nodes go whose results are `bytes` now.
void drop(Graph& graph, const std::vector<Node*>& quantizes, Value* bytes,
          std::vector<Node*>& open) {
  for (Node* node : quantizes) {
    graph.replace_uses(node->output(), bytes);
    std::erase(open, node);
    // Nothing else uses its input: it is dead, and must not count as a use.
    graph.erase(node);
  }
}

/// The value, all of whose readers quantize it, has their type and name.
void become_bytes(Graph& graph, Value* value, DataType type, std::vector<Node*>& open) {
  std::vector<Node*> readers;
  for (const Use& use : value->uses()) readers.push_back(use.node);
  value->type.type = type;
  value->name = readers.empty() ? std::string() : readers[0]->output()->name;
  drop(graph, readers, value, open);
}

bool rises(const Node& quantize) {
  const auto scale = scalar_of(quantize.input(1));
  return scale.has_value() && *scale > 0;
}

bool may_hoist(const Node& quantize) {
  return is_per_tensor(quantize) && is_byte(quantized_type(quantize)) && rises(quantize);
}

/// Whether it moved, with all that reads the same value; replacements go to `open`.
bool hoist(Graph& graph, Node& quantize, std::vector<Node*>& open) {
  Value* value = quantize.input(0);
  Node* before = value->producer();
  if (!may_hoist(quantize) || before == nullptr || !commutes(*before) ||
      (before->is<Pool>() && !is_byte_integer(quantized_type(quantize))) ||
      !is_quantized_only(graph, value, quantize))
    return false;
  const int operands = before->is<Concat>() ? static_cast<int>(before->inputs().size()) : 1;
  for (int i = 0; i < operands; ++i) {
    before->set_input(i, quantized(graph, before->input(i), quantize));
    open.push_back(before->input(i)->producer());
  }
  become_bytes(graph, value, quantized_type(quantize), open);
  return true;
}

bool takes_part(const Node& node) {
  return node.is<Slice>() || node.is<Split>();
}

/// Whether slices of the value, and maybe the whole, are quantized likewise and nothing else reads
/// it: several slices, since the rest of a single one would be quantized for nothing.
bool is_sliced_for(const Graph& graph, const Value* whole, const Node& quantize) {
  if (graph.is_output(whole)) return false;
  if (whole->uses().size() == 1 && whole->uses()[0].node->is<Slice>()) return false;
  return std::ranges::all_of(whole->uses(), [&](const Use& use) {
    if (is_like(quantize, use)) return !graph.is_output(use.node->output());
    const auto& outputs = use.node->outputs();
    return takes_part(*use.node) && use.index == 0 &&
           std::ranges::all_of(outputs, [&](const Value* output) {
             return is_quantized_only(graph, output, quantize);
           });
  });
}

/// Quantization of slices moves to the whole that they are taken from.
bool hoist_over_slices(Graph& graph, Node& quantize, std::vector<Node*>& open) {
  const Node* slice = quantize.input(0)->producer();
  if (!may_hoist(quantize) || slice == nullptr || !takes_part(*slice)) return false;
  Value* whole = slice->input(0);
  if (!is_sliced_for(graph, whole, quantize)) return false;
  const std::vector<Use> uses(whole->uses().begin(), whole->uses().end());
  const DataType type = quantized_type(quantize);
  Value* bytes = quantized(graph, whole, quantize);
  for (const Use& use : uses) {
    if (use.node->is<Quantize>()) {
      drop(graph, {use.node}, bytes, open);
      continue;
    }
    use.node->set_input(0, bytes);
    for (Value* output : use.node->outputs()) become_bytes(graph, output, type, open);
  }
  open.push_back(bytes->producer());
  return true;
}

/// From the Quantize down to the bytes that it is a function of, one by one: scalar functions, and
/// a Dequantize at last. Empty where it is none, or something else reads a part of it.
std::vector<Node*> function_of_bytes(const Graph& graph, Node& quantize) {
  std::vector<Node*> chain = {&quantize};
  for (const Value* value = quantize.input(0); only_user(graph, value) != nullptr;) {
    Node* node = value->producer();
    if (node == nullptr) return {};
    chain.push_back(node);
    if (node->is<Dequantize>())
      return chain.size() > 2 && is_per_tensor(*node) && is_byte(quantized_type(*node))
                 ? chain
                 : std::vector<Node*>();
    value = operand_beside_numbers(*node);
    if (value == nullptr || value->type.shape.size() != node->output()->type.shape.size())
      return {};
  }
  return {};
}

/// A function of bytes that were only moved comes ahead of the move: it joins the operator that
/// computed them.
bool hoist_function(Graph& graph, Node& quantize, std::vector<Node*>& open) {
  if (!may_hoist(quantize) || graph.is_output(quantize.output())) return false;
  const std::vector<Node*> chain = function_of_bytes(graph, quantize);
  Node* move = chain.empty() ? nullptr : chain.back()->input(0)->producer();
  if (move == nullptr || (!is_reshape(move) && !move->is<Transpose>()) ||
      only_user(graph, move->output()) == nullptr)
    return false;
  const Shape moved = move->output()->type.shape;
  std::vector<Value*> operands = move->inputs();
  operands[0] = nullptr;
  Node* after = graph.add_node(move->op->clone(), std::move(operands), 1, move->name);
  after->origins = move->origins;
  after->output()->type = {quantized_type(quantize), moved};
  after->output()->name = quantize.output()->name;
  graph.replace_uses(quantize.output(), after->output());
  after->set_input(0, quantize.output());
  chain.back()->set_input(0, move->input(0));
  for (Node* node : chain) {
    node->output()->type.shape = move->input(0)->type.shape;
    node->output()->name.clear();
  }
  graph.erase(move);
  open.push_back(&quantize);
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

/// Where regions have 16 bits, such numbers are quantized without the network's cast to f32.
bool takes_halves(Node& quantize, const PassOptions& options) {
  const Node* cast =
      produced_by<Cast>(quantize.input(0)) != nullptr ? quantize.input(0)->producer() : nullptr;
  if (cast == nullptr || !options.quantized_halves || !has_known_scaling(quantize) ||
      quantize.input(0)->type.type != DataType::kFloat32 ||
      !is_region_real(cast->input(0)->type.type, options))
    return false;
  quantize.set_input(0, cast->input(0));
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
    if (context.allows(quantize) && takes_halves(quantize, context.options())) {
      context.applied(name + " reads 16 bits");
      changed = true;
    }
    if (!context.allows(quantize) ||
        (!hoist(graph, quantize, open) && !hoist_over_slices(graph, quantize, open) &&
         !hoist_function(graph, quantize, open)))
      continue;
    context.applied(name + " moves to the front");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
