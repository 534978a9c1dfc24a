// A GatherND of single indices is a Gather, and a Gather of a transposed tensor is the transpose of
// one along another axis, which brings the transpose closer to its inverse. Stacking along a new
// axis is joining along the axis that follows it, and a reshape: so the pieces can be computed in
// place.
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

int64_t positive(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

/// The tuples' axis of length 1 goes.
bool single_index(Graph& graph, Node& node) {
  const auto* op = node.as<GatherNd>();
  if (op == nullptr || op->batch_dims != 0) return false;
  const Shape& indices = node.input(1)->type.shape;
  if (indices.size() < 2 || !indices.back().is_constant() || indices.back().constant() != 1)
    return false;
  Value* flat = add_reshape(graph, node.input(1), Shape(indices.begin(), indices.end() - 1), node);
  Value* gathered = add_op(graph, std::make_unique<Gather>(), {node.input(0), flat}, node);
  stand_in(graph, node, gathered);
  return true;
}

bool behind_transpose(Graph& graph, Node& node) {
  const auto* gather = node.as<Gather>();
  const auto* transpose = gather == nullptr ? nullptr : produced_by<Transpose>(node.input(0));
  if (transpose == nullptr || transpose->permutation.empty() ||
      node.input(1)->type.shape.size() != 1)
    return false;
  if (only_user(graph, node.input(0)) != &node) return false;
  const auto axis = static_cast<size_t>(positive(gather->axis, transpose->permutation.size()));
  auto before = std::make_unique<Gather>();
  before->axis = transpose->permutation[axis];
  auto after = std::make_unique<Transpose>();
  after->permutation = transpose->permutation;
  Value* source = node.input(0)->producer()->input(0);
  Value* gathered = add_op(graph, std::move(before), {source, node.input(1)}, node);
  Value* result = add_op(graph, std::move(after), {gathered}, node);
  stand_in(graph, node, result);
  return true;
}

/// The operand of an Unsqueeze, or another reshape, that inserts just that axis, else null.
Value* without_axis(Value* value, int64_t axis) {
  if (!is_reshape(value->producer())) return nullptr;
  Value* source = value->producer()->input(0);
  Shape shape = value->type.shape;
  const Dim extent = shape[static_cast<size_t>(axis)];
  shape.erase(shape.begin() + axis);
  return extent == Dim(1) && source->type.shape == shape ? source : nullptr;
}

bool stack(Graph& graph, Node& node) {
  const auto* concat = node.as<Concat>();
  if (concat == nullptr || node.inputs().size() < 2) return false;
  const Shape& shape = node.output()->type.shape;
  const int64_t axis = positive(concat->axis, shape.size());
  if (axis + 1 >= static_cast<int64_t>(shape.size())) return false;
  std::vector<Value*> pieces;
  for (Value* input : node.inputs()) {
    Value* piece = without_axis(input, axis);
    if (piece == nullptr) return false;
    pieces.push_back(piece);
  }
  auto joined = std::make_unique<Concat>();
  joined->axis = axis;
  Value* result = add_op(graph, std::move(joined), pieces, node);
  result = add_reshape(graph, result, shape, node);
  stand_in(graph, node, result);
  return true;
}

}  // namespace

bool straighten_gathers(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    return single_index(graph, node) || behind_transpose(graph, node) || stack(graph, node);
  });
}

}  // namespace tenon
