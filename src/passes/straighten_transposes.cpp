// A transpose between a reshape that joins axes and one that parts them again moves the axes
// themselves: reshape(transpose(reshape(x))) is one transpose of x. Exporters write this around
// attention (heads joined with the batch). A transpose that only moves axes of extent 1 is a
// reshape. Runs with simplify, which merges what is left.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

Shape without_ones(const Shape& shape) {
  Shape result;
  for (const Dim& dim : shape)
    if (!(dim == Dim(1))) result.push_back(dim);
  return result;
}

Value* reshaped(Graph& graph, Value* value, const Shape& shape, const Node& like) {
  if (value->type.shape == shape) return value;
  return add_reshape(graph, value, shape, like);
}

/// whole / part where that is exact, else nothing.
std::optional<Dim> exact_quotient(const Dim& whole, const Dim& part) {
  if (part.is_constant() && part.constant() == 0) return std::nullopt;
  const Dim quotient = floor_div(whole, part);
  return quotient * part == whole ? std::optional(quotient) : std::nullopt;
}

/// The coarsest extents of which both shapes join consecutive ones; nothing where there are none.
std::optional<Shape> common_refinement(const Shape& a, const Shape& b) {
  Shape result;
  size_t i = 0, k = 0;
  Dim rest_a(1), rest_b(1);
  while (true) {
    while (rest_a == Dim(1) && i < a.size()) rest_a = a[i++];
    while (rest_b == Dim(1) && k < b.size()) rest_b = b[k++];
    if (rest_a == Dim(1) && rest_b == Dim(1)) return result;
    if (const auto quotient = exact_quotient(rest_a, rest_b)) {
      result.push_back(rest_b);
      rest_a = *quotient;
      rest_b = Dim(1);
    } else if (const auto other = exact_quotient(rest_b, rest_a)) {
      result.push_back(rest_a);
      rest_b = *other;
      rest_a = Dim(1);
    } else {
      return std::nullopt;
    }
  }
}

/// The axes of extents 1 stay where the value has the others in this order.
Shape refined_shape(const Shape& x, const Shape& other) {
  if (joined_axes(x, other).has_value()) return x;
  return common_refinement(x, other).value_or(Shape());
}

/// What reshape(transpose(reshape(x))) is as a transpose of x (or of x with axes parted), or null.
Value* as_one_transpose(Graph& graph, Node& last) {
  if (!is_reshape(&last)) return nullptr;
  Node* middle = last.input(0)->producer();
  const auto* transpose = middle == nullptr ? nullptr : middle->as<Transpose>();
  Node* first = transpose == nullptr ? nullptr : middle->input(0)->producer();
  if (!is_reshape(first) || transpose->permutation.empty()) return nullptr;
  Value* x = first->input(0);
  const Shape& joined = first->output()->type.shape;
  const Shape parted = refined_shape(x->type.shape, joined);
  const auto groups = joined_axes(parted, joined);
  if (parted.empty() || !groups.has_value()) return nullptr;
  auto moved = std::make_unique<Transpose>();
  Shape shape;
  for (const int64_t axis : transpose->permutation)
    for (const int64_t original : (*groups)[axis]) {
      moved->permutation.push_back(original);
      shape.push_back(parted[original]);
    }
  const Shape& wanted = last.output()->type.shape;
  if (without_ones(shape) != without_ones(wanted)) return nullptr;
  // A reshape that only parts axes gains nothing from another that does.
  if (parted == joined) return nullptr;
  Value* result = add_op(graph, std::move(moved), {reshaped(graph, x, parted, *first)}, *middle);
  add_origins(*result->producer(), *first);
  add_origins(*result->producer(), last);
  return reshaped(graph, result, wanted, last);
}

/// A transpose that moves no axis past another with more than one element.
Value* as_reshape(Graph& graph, Node& node) {
  const auto* transpose = node.as<Transpose>();
  if (transpose == nullptr || transpose->permutation.empty()) return nullptr;
  const Shape& shape = node.input(0)->type.shape;
  int64_t last = -1;
  for (const int64_t axis : transpose->permutation) {
    if (shape[axis] == Dim(1)) continue;
    if (axis < last) return nullptr;
    last = axis;
  }
  return reshaped(graph, node.input(0), node.output()->type.shape, node);
}

}  // namespace

bool straighten_transposes(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : nodes_of(graph)) {
    if (!context.allows(*node)) continue;
    Value* result = as_reshape(graph, *node);
    if (result == nullptr) result = as_one_transpose(graph, *node);
    if (result == nullptr || (result == node->input(0) && graph.is_output(node->output())))
      continue;
    if (graph.is_output(node->output())) result->name = node->output()->name;
    graph.replace_uses(node->output(), result);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
