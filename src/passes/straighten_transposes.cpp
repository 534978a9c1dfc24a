// A transpose between a reshape that joins axes and one that parts them again moves the axes
// themselves: reshape(transpose(reshape(x))) is one transpose of x. Exporters write this around
// attention (heads joined with the batch). Two transposes around a reshape are one. A transpose
// that only moves axes of extent 1 is a reshape. Runs with simplify, which merges the rest.
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

/// reshape(transpose(reshape(x))) as a transpose of x (or of x with axes parted), or null.
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

/// The places in `parts` of the axes that each axis of `whole` is made of.
std::vector<std::vector<int64_t>> parts_of(const Shape& parts, const Shape& whole) {
  return joined_axes(parts, whole).value_or(std::vector<std::vector<int64_t>>());
}

/// transpose(reshape(transpose(x))) with other users of none of the values between: one transpose
/// of x, whose axes are parted and joined by reshapes. Null where the axes are cut differently.
Value* between_transposes(Graph& graph, Node& last) {
  const auto* outer = last.as<Transpose>();
  Node* middle = outer == nullptr ? nullptr : last.input(0)->producer();
  if (!is_reshape(middle) || only_user(graph, middle->output()) == nullptr) return nullptr;
  Node* first = middle->input(0)->producer();
  const auto* inner = first == nullptr ? nullptr : first->as<Transpose>();
  if (inner == nullptr || only_user(graph, first->output()) == nullptr) return nullptr;
  if (inner->permutation.empty() || outer->permutation.empty()) return nullptr;
  const Shape &before = middle->input(0)->type.shape, &after = middle->output()->type.shape;
  const auto fine = common_refinement(before, after);
  if (!fine.has_value()) return nullptr;
  const auto from = parts_of(*fine, before), to = parts_of(*fine, after);
  if (from.size() != before.size() || to.size() != after.size()) return nullptr;
  // Axes of x in its own order, parted; where each part stands behind the first transpose.
  Shape parted;
  std::vector<int64_t> place(fine->size());
  std::vector<size_t> inverse(inner->permutation.size());
  for (size_t i = 0; i < inverse.size(); ++i) inverse[inner->permutation[i]] = i;
  for (const size_t axis : inverse)
    for (const int64_t part : from[axis]) {
      place[part] = static_cast<int64_t>(parted.size());
      parted.push_back((*fine)[part]);
    }
  std::vector<int64_t> order;
  for (const int64_t axis : outer->permutation)
    for (const int64_t part : to[axis]) order.push_back(place[part]);
  if (order.size() != parted.size()) return nullptr;
  Value* x = reshaped(graph, first->input(0), parted, *first);
  if (!std::is_sorted(order.begin(), order.end())) x = transposed(graph, x, order, last);
  x = reshaped(graph, x, last.output()->type.shape, last);
  if (x == first->input(0)) return nullptr;  // They cancel, which simplify sees.
  add_origins(*x->producer(), *first);
  return x;
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
  return for_each_allowed(graph, context, [&](Node& node) {
    Value* result = as_reshape(graph, node);
    if (result == nullptr) result = as_one_transpose(graph, node);
    if (result == nullptr) result = between_transposes(graph, node);
    const bool is_output = result != nullptr && graph.is_output(node.output());
    if (result == nullptr || (result == node.input(0) && is_output)) return false;
    if (is_output) result->name = node.output()->name;
    graph.replace_uses(node.output(), result);
    return true;
  });
}

}  // namespace tenon
