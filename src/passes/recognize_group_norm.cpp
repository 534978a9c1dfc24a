// Exporters without a GroupNormalization operator write reshape to [N, groups, -1], instance
// normalization without scale and bias, reshape back, then product and sum per channel. That is one
// normalization. Must run after fold_constants.
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// A constant [C,1,...] (or [1,C,1,...]) as the vector [C].
Value* channel_vector(Graph& graph, const Value* value, const Dim& channels) {
  const Tensor* tensor = value->constant();
  if (tensor == nullptr || !(channels == Dim(tensor->count()))) return nullptr;
  int wide = 0;
  for (const int64_t extent : tensor->extents()) wide += extent != 1;
  if (wide > 1) return nullptr;
  Value* result = graph.add_constant(tensor->reshaped({tensor->count()}));
  result->type = {tensor->type(), {channels}};
  return result;
}

/// Follows x * constant per channel (or x + constant) to its output; the constant goes to
/// `constant`.
Value* follow(const Graph& graph, Value* x, PointwiseFunction function, Value*& constant) {
  const Node* user = only_user(graph, x);
  if (user == nullptr || !is_function(*user, function) ||
      user->output()->type.shape != x->type.shape)
    return nullptr;
  for (int i = 0; i < 2; ++i) {
    Value* other = user->input(1 - i);
    const size_t skipped = x->type.shape.size() - other->type.shape.size();
    const bool along_channels = other->type.shape.size() + 1 >= x->type.shape.size() &&
                                skipped <= 1 && other->type.shape[1 - skipped] == x->type.shape[1];
    if (user->input(i) == x && other->constant() != nullptr && along_channels) {
      constant = other;
      return user->output();
    }
  }
  return nullptr;
}

bool rewrite(Graph& graph, Node& node) {
  const auto* norm = node.as<Normalization>();
  if (norm == nullptr || norm->norm != NormKind::kInstance) return false;
  const auto* before = produced_by<Reshape>(node.input(0));
  Node* behind = only_user(graph, node.output());
  if (before == nullptr || behind == nullptr || !behind->is<Reshape>()) return false;
  if (node.input(0)->type.shape.size() != 3 || !is_scalar(node.input(1), 1) ||
      !is_scalar(node.input(2), 0))
    return false;
  Value* x = node.input(0)->producer()->input(0);
  const Shape& shape = x->type.shape;
  if (shape.size() < 3 || behind->output()->type.shape != shape ||
      shape[0] != node.input(0)->type.shape[0])
    return false;
  const Dim& groups = node.input(0)->type.shape[1];
  if (!groups.is_constant() || !shape[1].is_constant() ||
      shape[1].constant() % groups.constant() != 0)
    return false;
  Value *scale_source = nullptr, *bias_source = nullptr;
  Value* scaled = follow(graph, behind->output(), k_mul, scale_source);
  Value* biased = scaled == nullptr ? nullptr : follow(graph, scaled, k_add, bias_source);
  if (biased == nullptr) return false;
  Value* scale = channel_vector(graph, scale_source, shape[1]);
  Value* bias = channel_vector(graph, bias_source, shape[1]);
  if (scale == nullptr || bias == nullptr) return false;
  auto group = std::make_unique<Normalization>(*norm);
  group->norm = NormKind::kGroup;
  group->groups = groups.constant();
  Value* result = add_op(graph, std::move(group), {x, scale, bias}, node);
  for (const Node* part : {behind, scaled->producer(), biased->producer()})
    add_origins(*result->producer(), *part);
  result->name = biased->name;
  graph.replace_uses(biased, result);
  return true;
}

}  // namespace

bool recognize_group_norm(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    if (!context.allows_fusion(*node) || !rewrite(graph, *node)) continue;
    context.applied(node->name + " is group normalization");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
