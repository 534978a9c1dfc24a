#include "passes/casts.h"

#include "ops/math.h"
#include "passes/match.h"

namespace tenon {

Node* widening(const Value* value) {
  if (produced_by<Cast>(value) == nullptr || value->type.type != DataType::kFloat32) return nullptr;
  Node* node = value->producer();
  return is_half(node->input(0)->type.type) ? node : nullptr;
}

bool keeps_operand(const Node& node, int index) {
  return (node.is<Resize>() && index > 0) || node.is<Dequantize>();
}

Value* add_cast(Graph& graph, Value* value, DataType type) {
  Node* node = graph.add_node(std::make_unique<Cast>(type), {value}, 1,
                              fmt::format("cast({})", value->name));
  if (value->producer() != nullptr) node->origins = value->producer()->origins;
  node->output()->type = value->type;
  node->output()->type.type = type;
  return node->output();
}

}  // namespace tenon
