// Convolutions that are joined and normalized together: the numbers of a channel and the functions
// behind them belong to one of the convolutions each, which take them in. Must run before
// fold_into_weights.
#include <algorithm>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

bool is_function_of_channels(const Node& node) {
  return node.is<Pointwise>() || node.is<BatchNorm>();
}

/// A convolution for this user alone, also with scalar functions behind it.
bool is_convolution(const Graph& graph, const Value* value) {
  while (value->producer() != nullptr && only_user(graph, value) != nullptr) {
    const Node& node = *value->producer();
    if (node.is<Conv>() || node.is<Deconv>()) return true;
    if (!is_function_of_channels(node)) return false;
    const auto computed = std::ranges::find_if(
        node.inputs(), [](const Value* input) { return input->constant() == nullptr; });
    if (computed == node.inputs().end()) return false;
    value = *computed;
  }
  return false;
}

/// The operand of a scalar function beside constants that a join gives it alone; -1 for none.
int joined_operand(const Graph& graph, const Node& node) {
  int joined = -1;
  if (!is_function_of_channels(node)) return joined;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    if (node.input(i)->constant() != nullptr) continue;
    if (joined >= 0 || produced_by<Concat>(node.input(i)) == nullptr) return -1;
    joined = i;
  }
  return joined >= 0 && only_user(graph, node.input(joined)) == &node &&
                 node.output()->type == node.input(joined)->type
             ? joined
             : -1;
}

/// The part of a constant operand that meets the elements [begin, end) along an axis of the join.
Value* part_of(Graph& graph, Value* constant, int64_t axis, int64_t begin, int64_t end,
               const Node& like) {
  const Shape& shape = constant->type.shape;
  const auto missing = static_cast<int64_t>(like.output()->type.shape.size() - shape.size());
  const int64_t own = like.is<BatchNorm>() ? 0 : axis - missing;
  if (own < 0 || shape[own] == Dim(1)) return constant;
  return add_op(graph, std::make_unique<Slice>(),
                {constant, add_integers(graph, {begin}), add_integers(graph, {end}),
                 add_integers(graph, {own})},
                like);
}

bool rewrite(Graph& graph, Node& node) {
  const int joined = joined_operand(graph, node);
  if (joined < 0) return false;
  Node& join = *node.input(joined)->producer();
  const auto rank = static_cast<int64_t>(join.output()->type.shape.size());
  const int64_t given = join.as<Concat>()->axis, axis = given < 0 ? given + rank : given;
  const auto fits = [&](const Value* piece) {
    return piece->type.shape[axis].is_constant() && is_convolution(graph, piece);
  };
  if (!std::ranges::all_of(join.inputs(), fits) || (node.is<BatchNorm>() && axis != 1))
    return false;
  std::vector<Value*> pieces;
  int64_t begin = 0;
  for (Value* piece : join.inputs()) {
    const int64_t end = begin + piece->type.shape[axis].constant();
    std::vector<Value*> operands = node.inputs();
    for (Value*& operand : operands)
      operand = operand == join.output() ? piece : part_of(graph, operand, axis, begin, end, node);
    pieces.push_back(add_op(graph, node.op->clone(), operands, node));
    begin = end;
  }
  stand_in(graph, node, add_op(graph, join.op->clone(), pieces, join));
  graph.erase(&node);  // They would count as second users.
  graph.erase(&join);
  return true;
}

}  // namespace

bool lift_joins(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) { return rewrite(graph, node); });
}

}  // namespace tenon
