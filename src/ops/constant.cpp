// Functions that the IR declares and only the operator table can implement.
#include "ir/graph.h"
#include "ops/structure.h"

namespace tenon {

Value* Graph::add_constant(Tensor tensor, std::string name) {
  const TensorType type{tensor.type(), to_shape(tensor.extents())};
  Node* node = add_node(std::make_unique<Constant>(std::move(tensor)), {}, 1, name);
  node->output()->type = type;
  node->output()->name = std::move(name);
  return node->output();
}

}  // namespace tenon
