#include "passes/casts.h"

#include "ops/math.h"

namespace tenon {

Value* add_cast(Graph& graph, Value* value, DataType type) {
  Node* node = graph.add_node(std::make_unique<Cast>(type), {value}, 1,
                              fmt::format("cast({})", value->name));
  if (value->producer() != nullptr) node->origins = value->producer()->origins;
  node->output()->type = value->type;
  node->output()->type.type = type;
  return node->output();
}

}  // namespace tenon
