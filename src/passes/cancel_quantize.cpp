// Quantizing a value that was just dequantized with the same scale and zero point gives it back:
// the quotient of n * scale and scale rounds to n. The reverse pair rounds and stays.
#include "passes/quantized.h"

namespace tenon {

bool cancel_quantize(Graph& graph, PassContext& context) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!node->is<Quantize>() || !context.allows(*node)) continue;
    if (produced_by<Dequantize>(node->input(0)) == nullptr) continue;
    Node& before = *node->input(0)->producer();
    if (!is_byte(quantized_type(*node)) || !same_scaling(*node, before)) continue;
    Value* source = before.input(0);
    if (graph.is_output(node->output())) continue;
    if (source->producer() != nullptr) add_origins(*source->producer(), *node);
    graph.replace_uses(node->output(), source);
    context.applied(node->name + " undoes " + before.name);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
