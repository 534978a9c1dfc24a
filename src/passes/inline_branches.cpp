// The branch that is taken stands in place of an If whose condition is known. Must run after
// fold_constants, which finds out that extents are 1 and the like.
#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// The condition, when it is known.
std::optional<bool> condition_of(const Node& node) {
  const Value* value = node.input(0);
  if (const Tensor* tensor = value->constant(); tensor != nullptr && tensor->count() == 1)
    return tensor->as_int64(0) != 0;
  if (!value->elements.has_value() || value->elements->size() != 1) return std::nullopt;
  const Dim& element = value->elements->front();
  return element.is_constant() ? std::optional(element.constant() != 0) : std::nullopt;
}

}  // namespace

bool inline_branches(Graph& graph, PassContext& context) {
  bool changed = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {  // Grows: branches hold branches.
    Node& node = *graph.nodes()[i];
    const auto condition = node.is<If>() ? condition_of(node) : std::nullopt;
    if (!condition.has_value() || !context.allows(node)) continue;
    const std::vector<Value*> captures(node.inputs().begin() + 1, node.inputs().end());
    const auto results = inline_body(graph, *node.bodies[*condition ? 0 : 1], captures);
    for (size_t k = 0; k < results.size(); ++k) take_place(graph, node.outputs()[k], results[k]);
    context.applied(fmt::format("{} takes its {} branch", node.name, *condition ? "then" : "else"));
    changed = true;
    // Dead by now, but it must not be looked at again.
    node.truncate_inputs(0);
    graph.erase(&node);
    --i;
  }
  return changed;
}

}  // namespace tenon
