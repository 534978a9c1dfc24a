#include "check/network_facts.h"

#include <algorithm>
#include <cmath>

#include "check/moved_outputs.h"
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

DataType coarsest_type(const Graph& graph) {
  const auto norm = [](DataType type) { return tolerance(Computation::kNetwork, type).norm; };
  DataType coarsest = DataType::kFloat32;
  for (const auto& node : graph.nodes())
    for (const Value* value : node->outputs())
      if (is_real(value->type.type) && norm(value->type.type) > norm(coarsest))
        coarsest = value->type.type;
  return coarsest;
}

bool PlanRounding::shows(double layers) const {
  const double step = precision == DataType::kBFloat16 ? 0x1p-9 : 0x1p-12;
  return of_products() && step * std::sqrt(layers) > MovedOutputs::kNotable;
}

Tolerance PlanRounding::tolerance() const {
  const auto of_network = [](DataType type) {
    return tenon::tolerance(Computation::kNetwork, type);
  };
  Tolerance limit =
      wider(of_network(precision.value_or(DataType::kFloat32)), of_network(coarsest_type(network)));
  if (in_tf32) limit = wider(limit, of_network(DataType::kFloat16));
  return limit;
}

std::string PlanRounding::name() const {
  std::string name;
  if (precision.has_value())
    name = *precision == DataType::kFloat16    ? "fp16"
           : *precision == DataType::kBFloat16 ? "bf16"
                                               : "fp32";
  if (name.empty() && in_tf32) name = "tf32";
  if (rounds_to_bytes(network)) name += name.empty() ? "quantization" : " with quantization";
  return name;
}

}  // namespace tenon
