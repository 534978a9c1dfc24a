// Positions that a network counts up, also while its lengths are open: a gather by them is a slice,
// which costs nothing, or its data as they are; a comparison that holds for all positions, or for
// none, is known, and integers that are all the same are one number.
#include "passes/counted.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// The numbers first to first + count along an axis, which all are there; null where that is not
/// certain.
Value* rows(Graph& graph, Node& node, const Dim& first, const Dim& count, int64_t axis) {
  Value* const data = node.input(0);
  const Dim& extent = data->type.shape[static_cast<size_t>(axis)];
  if (first == Dim(0) && count == extent) return data;
  const SymbolRanges& ranges = graph.symbol_ranges;
  if (first.range(ranges).min < 0 || (extent - first - count).range(ranges).min < 0) return nullptr;
  return add_op(graph, std::make_unique<Slice>(),
                {data, add_shape(graph, {first}), add_shape(graph, {first + count}),
                 add_integers(graph, {axis})},
                node);
}

Value* expanded(Graph& graph, Value* value, const Shape& shape, const Node& node) {
  return value->type.shape == shape
             ? value
             : add_op(graph, std::make_unique<Expand>(), {value, add_shape(graph, shape)}, node);
}

/// gather(x, positions) is a slice of x, or one of its rows expanded. One constant position is
/// gather_to_slice's.
bool gather(Graph& graph, Node& node, CountedValues& counted) {
  const auto* op = node.as<Gather>();
  if (op == nullptr) return false;
  const Tensor* constant = node.input(1)->constant();
  if (constant != nullptr && constant->count() <= 1) return false;
  const auto positions = counted.of(node.input(1));
  if (!positions.has_value()) return false;
  const Shape& data = node.input(0)->type.shape;
  const Shape& indices = node.input(1)->type.shape;
  const int64_t axis = op->axis < 0 ? op->axis + static_cast<int64_t>(data.size()) : op->axis;
  const Shape& shape = node.output()->type.shape;
  if (positions->counts_up(indices)) {
    Value* const part = rows(graph, node, positions->first, product(indices), axis);
    if (part == nullptr) return false;
    stand_in(graph, node, add_reshape(graph, part, shape, node));
    return true;
  }
  if (!positions->is_uniform()) return false;
  Value* row = rows(graph, node, positions->first, Dim(1), axis);
  if (row == nullptr) return false;
  Shape single = shape;
  std::fill_n(single.begin() + axis, indices.size(), Dim(1));
  row = add_reshape(graph, row, single, node);
  stand_in(graph, node, expanded(graph, row, shape, node));
  return true;
}

/// Elements that are one number wherever they are gathered from.
bool gathered_number(Graph& graph, Node& node, CountedValues& counted) {
  if (!node.is<Gather>() && !node.is<GatherElements>()) return false;
  const auto values = counted.of(node.output());
  if (!values.has_value() || !values->is_uniform() || !values->first.is_constant()) return false;
  const Value* const result = node.output();
  Tensor number(result->type.type, {});
  if (result->type.type == DataType::kInt64)
    number.mutable_values<int64_t>()[0] = values->first.constant();
  else if (result->type.type == DataType::kInt32)
    number.mutable_values<int32_t>()[0] = static_cast<int32_t>(values->first.constant());
  else
    return false;
  Value* const constant = graph.add_constant(std::move(number));
  constant->type = {result->type.type, {}};
  stand_in(graph, node, expanded(graph, constant, result->type.shape, node));
  return true;
}

/// Whether the comparison holds for all differences in the range (true), for none (false), or it
/// depends.
std::optional<bool> outcome(PointwiseFunction function, const Range& range) {
  const auto decided = [](bool always, bool never) {
    return always || never ? std::optional(always) : std::nullopt;
  };
  switch (function) {
    case k_greater_equal: return decided(range.min >= 0, range.max < 0);
    case k_greater: return decided(range.min > 0, range.max <= 0);
    case k_less_equal: return decided(range.max <= 0, range.min > 0);
    case k_less: return decided(range.max < 0, range.min >= 0);
    case k_equal: return decided(range.min == 0 && range.max == 0, range.min > 0 || range.max < 0);
    default: return std::nullopt;
  }
}

bool comparison(Graph& graph, Node& node, CountedValues& counted) {
  const auto* pointwise = node.as<Pointwise>();
  if (pointwise == nullptr || node.inputs().size() != 2) return false;
  if (!outcome(pointwise->function, {0, 0}).has_value() || node.output()->constant() != nullptr)
    return false;
  const Shape& shape = node.output()->type.shape;
  const auto difference = counted.difference(node.input(0), node.input(1), shape);
  const auto range = difference ? counted.range(*difference, shape) : std::nullopt;
  const auto known = range ? outcome(pointwise->function, *range) : std::nullopt;
  if (!known.has_value()) return false;
  Tensor truth(DataType::kBool, {});
  truth.mutable_bytes()[0] = static_cast<std::byte>(*known ? 1 : 0);
  Value* const constant = graph.add_constant(std::move(truth));
  constant->type = {DataType::kBool, {}};
  stand_in(graph, node, expanded(graph, constant, shape, node));
  return true;
}

}  // namespace

bool fold_positions(Graph& graph, PassContext& context) {
  CountedValues counted(graph);
  return for_each_allowed(graph, context, [&](Node& node) {
    if (node.outputs().size() != 1) return false;
    return gathered_number(graph, node, counted) || gather(graph, node, counted) ||
           comparison(graph, node, counted);
  });
}

}  // namespace tenon
