#include "plan/bodies.h"

#include <algorithm>
#include <numeric>

#include "kernels/strides.h"
#include "ops/extent_rules.h"

namespace tenon {
namespace {

/// Inputs of a branch, or of an iteration. Slices start anywhere in a sequence.
void align_inputs(const ConcreteGraph& graph, const Node& node, ConcreteGraph& inside) {
  const bool branch = node.bodies.size() == 2;
  const Recurrence recurrence(node);
  const int scanned = recurrence.first + recurrence.states;
  const auto& inputs = inside.graph().inputs();
  for (int i = branch ? 0 : recurrence.first; i < static_cast<int>(inputs.size()); ++i) {
    const Value* outside = node.input(branch ? i + 1 : i);
    if (outside == nullptr || !graph.resolved(outside) || !inside.resolved(inputs[i])) continue;
    int64_t alignment = graph.operand(outside).alignment;
    if (!branch && i >= scanned && i < scanned + recurrence.scanned)
      alignment = std::gcd(alignment, inside.bytes(inputs[i]));
    inside.align(inputs[i], alignment);
  }
  // The number of an iteration is an element of a table.
  for (int i = 0; i < recurrence.first; ++i) inside.align(inputs[i], 8);
}

/// What a branch assumes of extents: the graph around it does not, since the branch may never run.
Status check_branch(const Graph& branch, const SymbolValues& symbols) {
  if (symbols.empty()) return {};
  const auto copy = branch.clone();
  TENON_ASSIGN(const ExtentRules rules, ExtentRules::of(*copy));
  return rules.check(symbols);
}

}  // namespace

Result<ConcreteGraph> concrete_body(const ConcreteGraph& graph, const Node& node, int body) {
  if (node.is<If>()) TENON_TRY(check_branch(*node.bodies[body], graph.symbols()));
  TENON_ASSIGN(ConcreteGraph inside, ConcreteGraph::create(*node.bodies[body], graph.symbols()));
  align_inputs(graph, node, inside);
  if (node.bodies.size() == 2) return inside;
  const Recurrence recurrence(node);
  for (int i = 0; i < recurrence.stacked; ++i) {
    const Value* slice = inside.graph().outputs()[recurrence.results + recurrence.states + i];
    if (inside.resolved(slice))
      inside.align(inside.storage(slice).root, std::gcd<int64_t>(256, inside.bytes(slice)));
  }
  return inside;
}

bool fully_resolved(const ConcreteGraph& graph) {
  const auto resolved = [&](const Value* value) { return graph.resolved(value); };
  return std::ranges::all_of(graph.graph().inputs(), resolved) &&
         std::ranges::all_of(graph.graph().nodes(), [&](const auto& node) {
           return std::ranges::all_of(node->outputs(), resolved);
         });
}

bool lies_plain(const Operand& operand) {
  return !operand.present || is_plain(operand);
}

}  // namespace tenon
