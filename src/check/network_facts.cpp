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

bool has_open_extents(const Graph& network) {
  return std::ranges::any_of(network.inputs(),
                             [](const Value* input) { return !is_constant(input->type.shape); });
}

std::string name_of_rounding(std::optional<DataType> precision, bool in_tf32,
                             const Graph& network) {
  std::string name;
  if (precision.has_value())
    name = *precision == DataType::kFloat16    ? "fp16"
           : *precision == DataType::kBFloat16 ? "bf16"
                                               : "fp32";
  if (name.empty() && in_tf32) name = "tf32";
  if (rounds_to_bytes(network)) name += name.empty() ? "quantization" : " with quantization";
  return name;
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
