// Operators along one axis (the first k of each line, softmax) between a transpose and its inverses
// work along the axis where it was: kernels take any. Not where the lines are the channels of an
// image, which lie together where images are channels-last. Runs with simplify, which drops the
// rest.
#include <algorithm>

#include "ops/table.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// The axis of an operator that works along one, counted from the first; nothing for others.
std::optional<int64_t> axis_of(const Node& node) {
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  int64_t axis = 0;
  if (const auto* top = node.as<TopK>())
    axis = top->axis;
  else if (const auto* softmax = node.as<Softmax>();
           softmax != nullptr && softmax->axes.size() == 1)
    axis = softmax->axes[0];
  else
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

void set_axis(Node& node, int64_t axis) {
  if (auto* top = node.as<TopK>()) top->axis = axis;
  if (auto* softmax = node.as<Softmax>()) softmax->axes = {axis};
}

/// Behind a convolution and operators that leave images as they are.
bool is_image(const Value* value) {
  constexpr int kMostSteps = 8;
  for (int i = 0; i < kMostSteps && value != nullptr && value->producer() != nullptr; ++i) {
    const Node& node = *value->producer();
    if (node.is<Conv>() || node.is<Deconv>() || node.is<Pool>() || node.is<Resize>()) return true;
    if (!node.is<Pointwise>() && !node.is<Cast>() && !node.is<Concat>()) return false;
    value = node.input(0);
  }
  return false;
}

bool undoes(const Node& node, const std::vector<int64_t>& permutation) {
  const auto* transpose = node.as<Transpose>();
  if (transpose == nullptr || transpose->permutation.size() != permutation.size()) return false;
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[transpose->permutation[i]] != static_cast<int64_t>(i)) return false;
  return true;
}

/// All that reads the results puts the axes back.
bool is_put_back(const Graph& graph, const Node& node, const std::vector<int64_t>& permutation) {
  return std::all_of(node.outputs().begin(), node.outputs().end(), [&](const Value* output) {
    if (graph.is_output(output) || output->uses().size() > 1) return false;
    return output->uses().empty() || undoes(*output->uses()[0].node, permutation);
  });
}

bool straighten(Graph& graph, Node& node) {
  if (node.inputs().empty() || node.input(0) == nullptr) return false;
  const auto axis = axis_of(node);
  const auto* transpose = axis.has_value() ? produced_by<Transpose>(node.input(0)) : nullptr;
  if (transpose == nullptr || transpose->permutation.empty()) return false;
  const std::vector<int64_t> permutation = transpose->permutation;
  Value* source = node.input(0)->producer()->input(0);
  if (!is_put_back(graph, node, permutation) || is_image(source)) return false;
  std::vector<Value*> inputs = node.inputs();
  inputs[0] = source;
  Node* straight = graph.add_node(node.op->clone(), std::move(inputs),
                                  static_cast<int>(node.outputs().size()), node.name);
  straight->origins = node.origins;
  set_axis(*straight, permutation[*axis]);
  if (!infer_node(*straight).ok()) return false;
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (const auto uses = node.outputs()[i]->uses(); !uses.empty())
      stand_in(graph, *uses[0].node, straight->outputs()[i]);
  return true;
}

}  // namespace

bool straighten_lines(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) { return straighten(graph, node); });
}

}  // namespace tenon
