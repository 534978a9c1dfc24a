#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/ops.h"
#include "ops/region.h"
#include "passes/pass.h"

namespace tenon {

/// Small questions that the rules of several passes ask about values and nodes.

/// The producer of `value` when it is the operator T, else null.
template <class T> const T* produced_by(const Value* value) {
  return value != nullptr && value->producer() != nullptr ? value->producer()->as<T>() : nullptr;
}

/// The producer when it is that scalar function, else null.
Node* pointwise_producer(const Value* value, PointwiseFunction function);

bool is_function(const Node& node, PointwiseFunction function);
inline bool is_region(const Node& node) {
  return node.is<Fused>();
}

inline bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::ranges::all_of(values, [&](int64_t value) { return value == wanted; });
}

/// The one number that a constant holds (in one element, or the same in all), else nothing.
std::optional<double> scalar_of(const Value* value);
/// scalar_of(value) is `expected` up to rounding of half precision.
bool is_scalar(const Value* value, double expected);

/// The single use of a value that is no graph output, else null.
Node* only_user(const Graph& graph, const Value* value);

/// The one computed operand of a scalar function whose other operands are single numbers: it treats
/// all elements in the same way. Null for other nodes.
Value* operand_beside_numbers(const Node& node);

/// A product as a number times values: nested multiplications, divisions by numbers and negations
/// taken apart as long as the intermediate products have no other user.
struct Product {
  double factor = 1;
  std::vector<Value*> values;
  std::vector<Node*> nodes;  ///< The nodes that were taken apart, outermost first.
};
Product product_of(const Graph& graph, Value* value);

/// New nodes; types of outputs are inferred. `like` gives name and origins.
Value* add_pointwise(Graph& graph, PointwiseFunction function, std::vector<Value*> inputs,
                     const Node& like, double alpha = 0, double beta = 0);
Value* add_op(Graph& graph, std::unique_ptr<Op> op, std::vector<Value*> inputs, const Node& like);
Value* add_integers(Graph& graph, std::vector<int64_t> values);
/// A shape as a tensor: a constant, or `dims` where it has symbols.
Value* add_shape(Graph& graph, const Shape& shape);
/// The value under that shape, whose extents may turn out to be 0.
Value* add_reshape(Graph& graph, Value* value, const Shape& shape, const Node& like);
/// The same, or the value itself where it has that shape.
Value* reshaped(Graph& graph, Value* value, const Shape& shape, const Node& like);
Value* transposed(Graph& graph, Value* value, std::vector<int64_t> permutation, const Node& like);

/// `value` equals the node's one output: it takes that one's name and users.
void stand_in(Graph& graph, const Node& node, Value* value);

/// Reshape, flatten, squeeze or unsqueeze.
bool is_reshape(const Node* node);
/// For each axis of `to` the consecutive axes of `from` whose product it is; nothing when an axis
/// of `from` would be cut.
std::optional<std::vector<std::vector<int64_t>>> joined_axes(const Shape& from, const Shape& to);

/// The nodes as they are now, in order: a rule may add and erase others while it looks at them.
std::vector<Node*> nodes_of(const Graph& graph);
/// Those of which `wanted` is true.
template <class Wanted> std::vector<Node*> nodes_of(const Graph& graph, const Wanted& wanted) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (wanted(*node)) nodes.push_back(node.get());
  return nodes;
}

/// Those of them that fusion may touch.
template <class Wanted>
std::vector<Node*> fusible_nodes(const Graph& graph, const PassContext& context,
                                 const Wanted& wanted) {
  return nodes_of(graph,
                  [&](const Node& node) { return wanted(node) && context.allows_fusion(node); });
}

/// Applies `rule`, which says whether it changed something, to each of the nodes.
template <class Rule> bool for_each_of(const std::vector<Node*>& nodes, const Rule& rule) {
  bool changed = false;
  for (Node* node : nodes) changed |= rule(*node);
  return changed;
}
/// The same from the last to the first.
template <class Rule> bool for_each_from_back(const std::vector<Node*>& nodes, const Rule& rule) {
  bool changed = false;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) changed |= rule(**it);
  return changed;
}
/// To every node that the pass may change.
template <class Rule>
bool for_each_allowed(Graph& graph, const PassContext& context, const Rule& rule) {
  return for_each_of(nodes_of(graph),
                     [&](Node& node) { return context.allows(node) && rule(node); });
}
/// To every node that fusion may touch.
template <class Rule>
bool for_each_fusible(Graph& graph, const PassContext& context, const Rule& rule) {
  return for_each_of(nodes_of(graph),
                     [&](Node& node) { return context.allows_fusion(node) && rule(node); });
}
/// Joins the nodes that `members_of` gives for a wanted node to a region, where it gives any.
template <class Wanted, class MembersOf>
bool join_around(Graph& graph, PassContext& context, const Wanted& wanted,
                 const MembersOf& members_of) {
  return for_each_of(fusible_nodes(graph, context, wanted), [&](Node& node) {
    const std::vector<Node*> members = members_of(node);
    return !members.empty() && context.applied(make_region(graph, members)->name);
  });
}

/// Adds the origins of `from` to `to`, once each.
void add_origins(Node& to, const Node& from);

}  // namespace tenon
