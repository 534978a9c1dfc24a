// Quantized weights that no region of integers took become floats when the plan is built, on
// devices without kernels that read them as they are: else each run would convert them. Must run
// after fuse_quantized, and after lower_precision, behind which products take weights in regions.
#include <algorithm>

#include "ops/table.h"
#include "passes/quantized.h"

namespace tenon {

bool unpack_weights(Graph& graph, PassContext& context) {
  if (context.options().quantized_weights) return false;
  return for_each_allowed(graph, context, [&](Node& node) {
    if (!node.is<Dequantize>()) return false;
    std::vector<const Tensor*> operands;
    for (const Value* value : node.inputs())
      operands.push_back(value == nullptr ? nullptr : value->constant());
    const bool known = std::ranges::all_of(
        node.inputs(), [](const Value* v) { return v == nullptr || v->constant() != nullptr; });
    if (!known) return false;
    const auto results = evaluate_node(node, operands);
    if (!results.ok()) return false;  // Running it reports the error.
    Value* weights = graph.add_constant(results->front(), node.output()->name);
    weights->type = node.output()->type;
    graph.replace_uses(node.output(), weights);
    return context.applied(node.name + " is done at build time");
  });
}

}  // namespace tenon
