// Exporters without a GroupNormalization operator write reshape to [N, groups, -1], instance
// normalization without scale and bias, reshape back, then product and sum per channel. That is one
// normalization. Must run after fold_constants.
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// One number a channel of an image, else the number `absent` a channel, as a vector.
Value* channel_vector(Graph& graph, const Value* value, const TensorType& image, double absent) {
  const int64_t channels = image.shape[1].constant();
  Tensor vector(image.type, {channels});
  if (value != nullptr)
    vector = value->constant()->reshaped({channels});
  else
    for (int64_t i = 0; i < channels; ++i) vector.set_from_double(i, absent);
  Value* result = graph.add_constant(std::move(vector));
  result->type = {image.type, {Dim(channels)}};
  return result;
}

/// A constant [C,1,...] (or [1,C,1,...]) for an image of the given type.
bool is_channel_vector(const Value* value, const TensorType& image) {
  const Tensor* tensor = value->constant();
  const size_t rank = image.shape.size();
  if (tensor == nullptr || tensor->type() != image.type || !(image.shape[1] == tensor->count()))
    return false;
  const size_t skipped = rank - value->type.shape.size();
  return skipped <= 1 && value->type.shape[1 - skipped] == image.shape[1];
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
    if (user->input(i) == x && is_channel_vector(other, x->type)) {
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
  // Scales of 1 and shifts of 0 were dropped before.
  Value *scale_source = nullptr, *bias_source = nullptr, *last = behind->output();
  std::vector<const Node*> parts = {behind};
  if (Value* scaled = follow(graph, last, k_mul, scale_source))
    parts.push_back((last = scaled)->producer());
  if (Value* biased = follow(graph, last, k_add, bias_source))
    parts.push_back((last = biased)->producer());
  std::vector<Value*> operands = {x};
  if (scale_source != nullptr || bias_source != nullptr)
    operands.push_back(channel_vector(graph, scale_source, x->type, 1));
  if (bias_source != nullptr) operands.push_back(channel_vector(graph, bias_source, x->type, 0));
  auto group = std::make_unique<Normalization>(*norm);
  group->norm = NormKind::kGroup;
  group->groups = groups.constant();
  Value* result = add_op(graph, std::move(group), std::move(operands), node);
  for (const Node* part : parts) add_origins(*result->producer(), *part);
  result->name = last->name;
  graph.replace_uses(last, result);
  return true;
}

}  // namespace

bool recognize_group_norm(Graph& graph, PassContext& context) {
  return for_each_fusible(graph, context, [&](Node& node) {
    return rewrite(graph, node) && context.applied(node.name + " is group normalization");
  });
}

}  // namespace tenon
