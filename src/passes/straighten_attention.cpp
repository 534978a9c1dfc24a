// Attention that a network brings as one operator gets the form that recognize_attention gives:
// a number that the queries are multiplied by is the scale, the past is joined with keys and values
// outside, repeated heads are not repeated, and the result is [batch, length, heads, size] with a
// transpose behind, which usually cancels. Sums of scores in the shape of an image, with
// relative positions by rows and by columns, get the scores' own shape. Must run after
// fold_constants.
#include <algorithm>

#include "passes/attention_pattern.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

enum Operand { kQ, kK, kV, kMask, kPastK, kPastV, kLengths };
enum Result { kOut, kPresentK, kPresentV, kScores };

bool is_wanted(const Graph& graph, const Node& node, int output) {
  return output < static_cast<int>(node.outputs().size()) &&
         (!node.output(output)->uses().empty() || graph.is_output(node.output(output)));
}

Value* swapped(Graph& graph, Value* value, const Node& like) {
  return transposed(graph, value, {0, 2, 1, 3}, like);
}

/// [B,heads,S,H] of [B,S,heads*H].
Value* with_heads(Graph& graph, Value* value, int64_t heads, const Node& like) {
  const Shape& x = value->type.shape;
  if (x.size() == 4) return value;
  return swapped(graph,
                 add_reshape(graph, value, {x[0], x[1], Dim(heads), floor_div(x[2], heads)}, like),
                 like);
}

Value* joined(Graph& graph, Value* past, Value* value, const Node& like) {
  auto concat = std::make_unique<Concat>();
  concat->axis = 2;
  return add_op(graph, std::move(concat), {past, value}, like);
}

void take_place(Graph& graph, Node& node, int output, Value* value) {
  if (!is_wanted(graph, node, output)) return;
  value->name = node.output(output)->name;
  graph.replace_uses(node.output(output), value);
}

/// The past as part of keys and values.
bool join_past(Graph& graph, Node& node) {
  auto& op = *node.as<Attention>();
  if (!node.has_input(kPastK) || !node.has_input(kPastV) || node.has_input(kLengths) || op.k_bsnh ||
      op.v_bsnh || is_wanted(graph, node, kScores))
    return false;
  const bool flat = node.input(kQ)->type.shape.size() == 3;
  const Shape &q = node.input(kQ)->type.shape, &k = node.input(kK)->type.shape;
  const bool same_length = q[flat || op.q_bsnh ? 1 : 2] == k[flat ? 1 : 2];
  if (op.causal == CausalMask::kUpperLeft && !same_length) return false;
  Value* q_value = with_heads(graph, node.input(kQ), op.q_heads, node);
  Value* keys =
      joined(graph, node.input(kPastK), with_heads(graph, node.input(kK), op.kv_heads, node), node);
  Value* values =
      joined(graph, node.input(kPastV), with_heads(graph, node.input(kV), op.kv_heads, node), node);
  take_place(graph, node, kPresentK, keys);
  take_place(graph, node, kPresentV, values);
  auto plain = std::make_unique<Attention>(op);
  plain->q_heads = plain->kv_heads = 0;
  plain->out_bsnh = true;
  if (op.causal == CausalMask::kUpperLeft) plain->causal = CausalMask::kLowerRight;
  std::vector<Value*> inputs = {q_value, keys, values};
  if (node.has_input(kMask)) inputs.push_back(node.input(kMask));
  Value* result = add_op(graph, std::move(plain), std::move(inputs), node);
  if (flat) {
    result = add_reshape(graph, result, node.output()->type.shape, node);
  } else if (!op.out_bsnh) {
    result = swapped(graph, result, node);
  }
  stand_in(graph, node, result);
  return true;
}

/// A number that the queries are multiplied by. A scale of 0 stands for one that it would replace.
bool take_scale(Node& node) {
  auto& op = *node.as<Attention>();
  double scale = op.scale;
  Value* const q = without_factor(node.input(kQ), scale);
  if (q == node.input(kQ) || scale == 0 || q->type.shape != node.input(kQ)->type.shape ||
      q->type.type != node.input(kQ)->type.type)
    return false;
  op.scale = scale;
  node.set_input(kQ, q);
  return true;
}

/// Heads of keys and values that were repeated.
bool use_fewer_heads(Graph& graph, Node& node) {
  const auto& op = *node.as<Attention>();
  if (op.k_bsnh || op.v_bsnh || node.has_input(kPastK)) return false;
  Value *k = node.input(kK), *v = node.input(kV);
  if (!share_heads(graph, k, v, node)) return false;
  node.set_input(kK, k);
  node.set_input(kV, v);
  return true;
}

bool by_position(Graph& graph, Node& node) {
  auto& op = *node.as<Attention>();
  if (op.out_bsnh || node.input(kQ)->type.shape.size() != 4 || is_wanted(graph, node, kPresentK) ||
      is_wanted(graph, node, kPresentV) || is_wanted(graph, node, kScores))
    return false;
  auto plain = std::make_unique<Attention>(op);
  plain->out_bsnh = true;
  Value* result = swapped(graph, add_op(graph, std::move(plain), node.inputs(), node), node);
  stand_in(graph, node, result);
  return true;
}

/// The sum of the values has that shape.
bool fill(const std::vector<Value*>& values, const Shape& shape) {
  for (size_t i = 1; i <= shape.size(); ++i)
    if (std::ranges::none_of(values, [&](const Value* value) {
          const Shape& own = value->type.shape;
          return i <= own.size() && own[own.size() - i] == shape[shape.size() - i];
        }))
      return false;
  return true;
}

/// reshape(reshape(scores) + a + b) in front of a softmax becomes scores + reshape(a + b).
bool add_in_own_shape(Graph& graph, Node& node) {
  const Node* softmax = is_reshape(&node) ? only_user(graph, node.output()) : nullptr;
  if (softmax == nullptr || !softmax->is<Softmax>()) return false;
  std::vector<Value*> addends;
  Value* value = node.input(0);
  const Shape& image = value->type.shape;
  while (Node* sum = pointwise_producer(value, k_add)) {
    if (only_user(graph, value) == nullptr) return false;
    const auto leads_to_scores = [&](const Value* side) {
      return side->type.shape == image &&
             (is_reshape(side->producer()) || pointwise_producer(side, k_add) != nullptr);
    };
    const int side = leads_to_scores(sum->input(0)) ? 0 : 1;
    if (!leads_to_scores(sum->input(side))) return false;
    addends.push_back(sum->input(1 - side));
    value = sum->input(side);
  }
  if (addends.empty() || !is_reshape(value->producer()) || only_user(graph, value) == nullptr)
    return false;
  Value* const scores = value->producer()->input(0);
  if (produced_by<MatMul>(scores) == nullptr || scores->type.shape != node.output()->type.shape)
    return false;
  if (!fill(addends, image)) return false;
  Value* total = addends.back();
  for (auto it = addends.rbegin() + 1; it != addends.rend(); ++it)
    total = add_pointwise(graph, k_add, {total, *it}, node);
  stand_in(
      graph, node,
      add_pointwise(graph, k_add,
                    {scores, add_reshape(graph, total, node.output()->type.shape, node)}, node));
  return true;
}

}  // namespace

bool straighten_attention(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    if (add_in_own_shape(graph, node)) return true;
    if (!node.is<Attention>()) return false;
    bool changed = take_scale(node);
    changed |= use_fewer_heads(graph, node);
    changed |= join_past(graph, node) || by_position(graph, node);
    return changed;
  });
}

}  // namespace tenon
