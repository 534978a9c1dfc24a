#include "select/usual_broadcasts.h"

#include <optional>
#include <vector>

#include "ops/math.h"
#include "ops/movement.h"
#include "ops/table.h"
#include "passes/match.h"

namespace tenon {
namespace {

/// The shape that the operands have together, where inference kept an extent that is 1 for another
/// that is not.
std::optional<Shape> other_shape(const Node& node, const SymbolValues& usual) {
  Shape shape = node.output()->type.shape;
  bool is_other = false;
  for (const Value* input : node.inputs()) {
    const Shape& given = input->type.shape;
    for (size_t i = 1; i <= given.size(); ++i) {
      Dim& kept = shape[shape.size() - i];
      const Dim& extent = given[given.size() - i];
      const auto value = extent.evaluate(usual);
      if (kept.evaluate(usual) != 1 || !value.has_value() || *value == 1) continue;
      kept = extent;
      is_other = true;
    }
  }
  return is_other ? std::optional(std::move(shape)) : std::nullopt;
}

}  // namespace

Status expand_usual_broadcasts(Graph& graph, std::span<const SymbolValues> usual) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    TENON_TRY(infer_node(*node));
    for (const SymbolValues& values : usual) {
      if (!node->is<Pointwise>()) continue;
      const std::optional<Shape> shape = other_shape(*node, values);
      if (!shape) continue;
      Value* target = add_shape(graph, *shape);
      node->set_input(0,
                      add_op(graph, std::make_unique<Expand>(), {node->input(0), target}, *node));
      TENON_TRY(infer_node(*node));
    }
  }
  return graph.sort();
}

}  // namespace tenon
