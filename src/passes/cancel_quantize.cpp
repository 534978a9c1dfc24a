// Quantizing a value that was just dequantized with the same scale and zero point gives it back:
// the quotient of n * scale and scale rounds to n. The reverse pair rounds and stays.
#include "passes/quantized.h"

namespace tenon {

bool cancel_quantize(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    if (!node.is<Quantize>() || produced_by<Dequantize>(node.input(0)) == nullptr) return false;
    const Node& before = *node.input(0)->producer();
    if (!is_byte(quantized_type(node)) || !same_scaling(node, before)) return false;
    Value* source = before.input(0);
    if (graph.is_output(node.output())) return false;
    if (source->producer() != nullptr) add_origins(*source->producer(), node);
    graph.replace_uses(node.output(), source);
    return context.applied(node.name + " undoes " + before.name);
  });
}

}  // namespace tenon
