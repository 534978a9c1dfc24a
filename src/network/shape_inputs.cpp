#include "network/shape_inputs.h"

#include <algorithm>

#include "ops/shape_input.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

/// Whether a symbol of this beginning decides an extent.
bool decides_extents(const Graph& graph, const std::string& beginning) {
  const auto uses = [&](const Dim& dim) {
    return std::ranges::any_of(dim.symbols(),
                               [&](const auto& name) { return name.starts_with(beginning); });
  };
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    return std::ranges::any_of(
               node->outputs(),
               [&](const Value* value) { return std::ranges::any_of(value->type.shape, uses); }) ||
           std::ranges::any_of(node->bodies,
                               [&](const auto& body) { return decides_extents(*body, beginning); });
  });
}

/// A fill asks for its extents itself, also where it has no axis.
bool gives_extents_of_a_fill(const Network& network, const TensorHandle& input) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const nvinfer1::ILayer& layer = *network.getLayer(i);
    if (layer.getType() == nvinfer1::LayerType::kFILL && layer.getInput(0) == &input) return true;
  }
  return false;
}

}  // namespace

/// Unknown numbers take the input's place, which shows whether shapes depend on them.
bool decides_shapes(Network& network, const TensorHandle& input) {
  if (!can_decide_shapes(input.value()->type) || network.graph().outputs().empty()) return false;
  if (gives_extents_of_a_fill(network, input)) return true;
  const auto graph = network.finished_graph();
  if (!graph.ok()) return false;
  const auto& inputs = (*graph)->inputs();
  const auto own = std::ranges::find_if(
      inputs, [&](const Value* value) { return value->name == input.value()->name; });
  if (own == inputs.end()) return false;
  const std::string beginning = (*own)->name + "[";
  std::vector<Dim> elements;
  for (int64_t i = 0; i < element_count(constants((*own)->type.shape)); ++i)
    elements.push_back(Dim::symbol(fmt::format("{}{}]", beginning, i)));
  (*own)->elements = std::move(elements);
  return infer_graph(**graph).ok() && decides_extents(**graph, beginning);
}

}  // namespace tenon::network
