// Dense blocks join everything that they have computed so far for each of their layers: a join
// whose inputs come one after the other among those of a larger one is part of that. Each output
// then is in one join alone, and all are computed where they lie in the largest one
// (select/views.h), of which the smaller ones are slices. Must run behind the passes that look for
// joins.
#include <algorithm>
#include <functional>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

int64_t axis_of(const Node& join) {
  const int64_t axis = join.as<Concat>()->axis;
  return axis < 0 ? axis + static_cast<int64_t>(join.output()->type.shape.size()) : axis;
}

/// Where the inputs of the smaller join begin among those of the larger one; its count of inputs
/// where they do not occur.
size_t place_of(const Node& part, const Node& whole) {
  const auto found = std::ranges::search(whole.inputs(), part.inputs());
  return static_cast<size_t>(found.begin() - whole.inputs().begin());
}

bool is_part(const Node& part, const Node& whole) {
  return part.inputs().size() > 1 && part.inputs().size() < whole.inputs().size() &&
         axis_of(part) == axis_of(whole) && part.output()->type.type == whole.output()->type.type &&
         place_of(part, whole) < whole.inputs().size();
}

/// The largest other join that is part of this one.
Node* part_of(const std::vector<Node*>& joins, const Node& whole) {
  Node* largest = nullptr;
  for (Node* part : joins)
    if (is_part(*part, whole) &&
        (largest == nullptr || part->inputs().size() > largest->inputs().size()))
      largest = part;
  return largest;
}

void nest(Node& whole, Node& part) {
  const size_t place = place_of(part, whole), count = part.inputs().size();
  std::vector<Value*> inputs = whole.inputs();
  inputs[place] = part.output();
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(place) + 1,
               inputs.begin() + static_cast<std::ptrdiff_t>(place + count));
  for (size_t i = 0; i < inputs.size(); ++i) whole.set_input(static_cast<int>(i), inputs[i]);
  whole.truncate_inputs(static_cast<int>(inputs.size()));
}

}  // namespace

bool nest_joins(Graph& graph, PassContext& context) {
  const auto joins =
      nodes_of(graph, [&](const Node& node) { return node.is<Concat>() && context.allows(node); });
  // Parts of a whole are found among inputs that are no joins yet: the largest come first.
  std::vector<Node*> by_size = joins;
  std::ranges::stable_sort(by_size, std::greater(),
                           [](const Node* join) { return join->inputs().size(); });
  return for_each_of(by_size, [&](Node& join) {
    Node* const part = part_of(joins, join);
    if (part != nullptr) nest(join, *part);
    return part != nullptr;
  });
}

}  // namespace tenon
