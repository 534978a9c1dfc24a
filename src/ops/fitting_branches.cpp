#include "ops/fitting_branches.h"

#include <fmt/format.h>

#include "ops/body.h"
#include "ops/math.h"
#include "ops/region.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

Status fit(Graph& graph);

/// A branch under the extents of the node's operands.
Status fit_branch(Node& node, Graph& body) {
  const InferContext context(node, {});
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i)
    pass_input(context, i, *body.inputs()[static_cast<size_t>(i - 1)]);
  share_symbols(node.graph(), body);
  return fit(body);
}

/// Of the two branches the one at `kept` stays, for the reason that the other one has.
void keep_branch(Graph& graph, Node& node, int kept, const Error& reason) {
  Value* condition = node.input(0);
  if (kept != 0) {
    Node* is_other = graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_not),
                                    {condition}, 1, node.name);
    is_other->output()->type = condition->type;
    is_other->origins = node.origins;
    condition = is_other->output();
  }
  auto assertion = std::make_unique<Assertion>();
  assertion->message = fmt::format("the {} branch does not allow these extents: {}",
                                   kept == 0 ? "else" : "then", reason.message);
  graph.add_node(std::move(assertion), {condition}, 0, node.name)->origins = node.origins;
  const std::vector<Value*> captures(node.inputs().begin() + 1, node.inputs().end());
  const auto results = inline_body(graph, *node.bodies[static_cast<size_t>(kept)], captures);
  for (size_t i = 0; i < results.size(); ++i) take_place(graph, node.outputs()[i], results[i]);
  graph.erase(&node);
}

/// A node whose inference failed: that of a node inside of it may have.
Status fit_inside(Graph& graph, Node& node, const Error& error) {
  if (!node.is<If>()) {
    for (const auto& body : node.bodies) TENON_TRY(fit(*body));
    return infer_node(node);
  }
  const Status found[] = {fit_branch(node, *node.bodies[0]), fit_branch(node, *node.bodies[1])};
  if (found[0].ok() && found[1].ok()) return infer_node(node);
  const int kept = found[0].ok() ? 0 : 1;
  if (!found[kept].ok()) return error;
  keep_branch(graph, node, kept, found[1 - kept].error());
  return {};
}

Status fit(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    const Status status = infer_node(*node);
    if (status.ok()) continue;
    if (node->bodies.empty()) return status;
    TENON_TRY(fit_inside(graph, *node, status.error()));
  }
  return graph.sort();
}

}  // namespace

Status keep_fitting_branches(Graph& graph) {
  return fit(graph);
}

}  // namespace tenon
