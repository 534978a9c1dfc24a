// Attention that a network brings as one operator gets the form that recognize_attention gives:
// a number that the queries are multiplied by is the scale, the past is joined with keys and values
// outside, repeated heads are not repeated, and the result is [batch, length, heads, size] with a
// transpose behind, which usually cancels. Must run after fold_constants.
#include "passes/attention_pattern.h"
#include "passes/pass.h"

namespace tenon {
namespace {

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

}  // namespace

bool straighten_attention(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    if (!node.is<Attention>()) return false;
    bool changed = take_scale(node);
    changed |= use_fewer_heads(graph, node);
    changed |= join_past(graph, node) || by_position(graph, node);
    return changed;
  });
}

}  // namespace tenon
