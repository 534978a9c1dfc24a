#include "check/network_facts.h"

#include <algorithm>

#include "ops/numerics.h"
#include "ops/ops.h"

namespace tenon {

bool rounds_to_bytes(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    return (node->template is<Quantize>() || node->template is<DynamicQuantize>()) &&
           byte_size(node->output()->type.type) == 1;
  });
}

bool has_open_loop(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->is<Loop>() && !node->has_input(0)) return true;
    for (const auto& body : node->bodies)
      if (has_open_loop(*body)) return true;
  }
  return false;
}

DataType coarsest_type(const Graph& graph) {
  const auto norm = [](DataType type) { return tolerance(Computation::kNetwork, type).norm; };
  DataType coarsest = DataType::kFloat32;
  for (const auto& node : graph.nodes())
    for (const Value* value : node->outputs())
      if (is_real(value->type.type) && norm(value->type.type) > norm(coarsest))
        coarsest = value->type.type;
  return coarsest;
}

}  // namespace tenon
