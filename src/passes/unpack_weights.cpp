// Quantized weights that no region of integers took become floats when the plan is built, on
// devices without kernels that read them as they are: else each run would convert them. Must run
// after fuse_quantized, and after lower_precision, behind which products take weights in regions.
#include <algorithm>

#include "ops/table.h"
#include "passes/quantized.h"

namespace tenon {

bool unpack_weights(Graph& graph, PassContext& context) {
  if (context.options().quantized_weights) return false;
  bool changed = false;
  const std::vector<Node*> nodes = nodes_of(
      graph, [&](const Node& node) { return node.is<Dequantize>() && context.allows(node); });
  for (Node* node : nodes) {
    std::vector<const Tensor*> operands;
    for (const Value* value : node->inputs())
      operands.push_back(value == nullptr ? nullptr : value->constant());
    const bool known =
        std::none_of(node->inputs().begin(), node->inputs().end(),
                     [](const Value* v) { return v != nullptr && v->constant() == nullptr; });
    if (!known) continue;
    const auto results = evaluate_node(*node, operands);
    if (!results.ok()) continue;  // Running it reports the error.
    Value* weights = graph.add_constant(results->front(), node->output()->name);
    weights->type = node->output()->type;
    graph.replace_uses(node->output(), weights);
    context.applied(node->name + " is done at build time");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
