#include "check/region_graph.h"

namespace tenon {

Result<RegionGraph> RegionGraph::create(ObservedRun& observed, const Node& node) {
  RegionGraph region;
  region.graph = std::make_unique<Graph>();
  std::unordered_map<const Value*, Value*> twins;
  std::vector<Value*> operands;
  for (const Value* input : node.inputs()) {
    if (input != nullptr && !twins.contains(input)) {
      TENON_ASSIGN(Tensor tensor, observed.contents(input));
      if (!tensor.defined()) return unsupported("a constant was left out");
      const TensorType type = {tensor.type(), to_shape(tensor.extents()), Layout::kRowMajor};
      const bool fixed = input->constant() != nullptr || input->elements.has_value();
      Value*& twin = twins[input];
      twin = fixed ? region.graph->add_constant(tensor)
                   : region.graph->add_input(fmt::format("in{}", region.inputs.size()), type);
      twin->type = type;
      if (!fixed) region.inputs.push_back(std::move(tensor));
    }
    operands.push_back(input == nullptr ? nullptr : twins.at(input));
  }
  Node* twin = region.graph->add_node(node.op->clone(), std::move(operands),
                                      static_cast<int>(node.outputs().size()), node.name);
  for (const auto& body : node.bodies) twin->bodies.push_back(body->clone());
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    TENON_ASSIGN(Tensor tensor, observed.contents(node.outputs()[i]));
    Value* result = twin->outputs()[i];
    result->name = fmt::format("out{}", i);
    result->type = {tensor.type(), to_shape(tensor.extents()), Layout::kRowMajor};
    region.graph->add_output(result);
    region.actual.push_back(std::move(tensor));
  }
  return region;
}

}  // namespace tenon
