#include "passes/depthwise.h"

#include "ops/ops.h"

namespace tenon {

const Tensor* image_weights(const Node& node) {
  const Tensor* weights = node.input(1)->constant();
  const bool fits = weights != nullptr && weights->rank() == 4 &&
                    node.output()->type.type == DataType::kFloat32 &&
                    (!node.has_input(2) || node.input(2)->constant() != nullptr);
  return fits ? weights : nullptr;
}

bool is_depthwise(const Node& node) {
  const auto* conv = node.as<Conv>();
  const Tensor* weights = conv == nullptr ? nullptr : image_weights(node);
  return weights != nullptr && conv->groups > 1 && weights->extents()[0] == conv->groups &&
         weights->extents()[1] == 1;
}

void take_functions(const Graph& graph, const PassContext& context, const Value*& value,
                    std::vector<Node*>& members) {
  while (Node* next = only_user(graph, value)) {
    if (!next->is<Pointwise>() || next->inputs().size() != 1 || !context.allows_fusion(*next))
      return;
    members.push_back(next);
    value = next->output();
  }
}

bool ends_in_operands(const Graph& graph, const Value* value) {
  const Node* user = only_user(graph, value);
  return user != nullptr && user->is<Pointwise>() &&
         user->output()->type.shape == value->type.shape;
}

bool take_depthwise(const Graph& graph, const PassContext& context, const Value* value,
                    std::vector<Node*>& members) {
  Node* next = only_user(graph, value);
  if (next == nullptr || !is_depthwise(*next) || next->input(0) != value ||
      !context.allows_fusion(*next))
    return false;
  members.push_back(next);
  value = next->output();
  take_functions(graph, context, value, members);
  return !ends_in_operands(graph, value);
}

}  // namespace tenon
