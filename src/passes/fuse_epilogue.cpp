// Anchors (convolution, matmul, ...) take the chain of pointwise operators behind them into one
// region: bias, residual, activation. A pointwise node joins when it is the only user of the
// running value and keeps its shape; its other operand comes from outside. Must run after the
// patterns that make pointwise functions out of groups (GELU, SiLU), and before fuse_pointwise.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/residual.h"

namespace tenon {
namespace {

/// Longer chains gain nothing: the value stays in registers all the same, but registers run out.
constexpr size_t kMaxSteps = 8;

bool is_anchor(const Node& node) {
  return node.is<Conv>() || node.is<Deconv>() || node.is<MatMul>() || node.is<Normalization>();
}

/// The step that may follow `running`, or null.
Node* next_step(const Graph& graph, const Value* running, const PassContext& context) {
  if (running->uses().size() != 1 || graph.is_output(running)) return nullptr;
  Node* next = running->uses()[0].node;
  const auto* pointwise = next->as<Pointwise>();
  if (pointwise == nullptr || next->inputs().size() > 2 || !context.allows_fusion(*next))
    return nullptr;
  const TensorType& type = next->output()->type;
  if (type.type != running->type.type || type.shape != running->type.shape) return nullptr;
  return next;
}

/// The cast behind a product whose result leaves the network in f32, or null.
Node* widening_step(const Graph& graph, const Value* running, const PassContext& context) {
  if (!context.options().widened_products) return nullptr;
  if (running->uses().size() != 1 || graph.is_output(running)) return nullptr;
  Node* next = running->uses()[0].node;
  const DataType from = running->type.type;
  const bool widens = next->is<Cast>() && next->output()->type.type == DataType::kFloat32 &&
                      (from == DataType::kFloat16 || from == DataType::kBFloat16);
  return widens && graph.is_output(next->output()) && context.allows_fusion(*next) ? next : nullptr;
}

}  // namespace

bool fuse_epilogue(Graph& graph, PassContext& context) {
  const std::vector<Node*> anchors = nodes_of(
      graph, [&](const Node& node) { return is_anchor(node) && context.allows_fusion(node); });
  bool changed = false;
  // From the back: where two anchors meet in a sum, the later one takes it, when its operand is
  // already there.
  for (auto it = anchors.rbegin(); it != anchors.rend(); ++it) {
    std::vector<Node*> members = {*it};
    const Value* running = (*it)->output();
    while (members.size() <= kMaxSteps) {
      Node* next = next_step(graph, running, context);
      if (next == nullptr ||
          ((*it)->is<MatMul>() && waits_for_normalization(graph, *next, context)))
        break;
      members.push_back(next);
      running = next->output();
    }
    Node* last = (*it)->is<MatMul>() ? widening_step(graph, running, context) : nullptr;
    if (last != nullptr) members.push_back(last);
    if (members.size() == 1) continue;
    context.applied(make_region(graph, members)->name);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
