// Scans go along first axes, with transposes around them, so that an iteration's slices lie in one
// piece. Must run after unroll_loops, which leaves fewer scans.
#include "ops/control_flow.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// The permutation that puts an axis first, or back.
std::vector<int64_t> moved(int64_t from, int64_t to, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != from) axes.push_back(i);
  axes.insert(axes.begin() + to, from);
  return axes;
}

int64_t positive(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

bool straighten_inputs(Graph& graph, Node& node) {
  auto& scan = *node.as<Scan>();
  const Recurrence recurrence(node);
  bool changed = false;
  for (int i = 0; i < recurrence.scanned; ++i) {
    const int at = recurrence.states + i;
    const auto rank = static_cast<int64_t>(node.input(at)->type.shape.size());
    const int64_t axis = positive(recurrence.input_axis(node, i), rank);
    if (axis == 0) continue;
    scan.input_axes[i] = 0;
    node.set_input(at, transposed(graph, node.input(at), moved(axis, 0, rank), node));
    changed = true;
  }
  return changed;
}

bool straighten_outputs(Graph& graph, Node& node) {
  auto& scan = *node.as<Scan>();
  const Recurrence recurrence(node);
  bool changed = false;
  for (int i = 0; i < recurrence.stacked; ++i) {
    Value* output = node.outputs()[recurrence.states + i];
    const auto rank = static_cast<int64_t>(output->type.shape.size());
    const int64_t axis = positive(recurrence.output_axis(node, i), rank);
    if (axis == 0) continue;
    scan.output_axes[i] = 0;
    const Shape shape = output->type.shape;
    Shape& straight = output->type.shape;
    straight.erase(straight.begin() + axis);
    straight.insert(straight.begin(), shape[axis]);
    output->elements.reset();
    // Users first: the transpose is one itself.
    auto op = std::make_unique<Transpose>();
    op->permutation = moved(0, axis, rank);
    Node* back = graph.add_node(std::move(op), {}, 1, node.name);
    back->origins = node.origins;
    back->output()->type = {output->type.type, shape};
    graph.replace_uses(output, back->output());
    std::swap(back->output()->name, output->name);
    back->append_input(output);
    changed = true;
  }
  return changed;
}

}  // namespace

bool straighten_scans(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    if (!node.is<Scan>()) return false;
    const bool changed = straighten_inputs(graph, node);
    return straighten_outputs(graph, node) || changed;
  });
}

}  // namespace tenon
