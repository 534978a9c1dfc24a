// A range of open length is the first part of a constant, which has as many numbers as the longest
// of the profile: no kernel counts at a run. Must run after all passes that look for ranges.
#include "passes/counted.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

constexpr int64_t kMostNumbers = 65536;

/// first, first + step, ... of a type of integers.
Tensor numbers(DataType type, int64_t first, int64_t step, int64_t count) {
  Tensor tensor(type, {count});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = first + i * step;
    if (type == DataType::kInt64)
      tensor.mutable_values<int64_t>()[i] = number;
    else
      tensor.mutable_values<int32_t>()[i] = static_cast<int32_t>(number);
  }
  return tensor;
}

bool rewrite(Graph& graph, Node& node, CountedValues& counted) {
  if (!node.is<RangeOf>()) return false;
  const TensorType& type = node.output()->type;
  const bool is_integer = type.type == DataType::kInt64 || type.type == DataType::kInt32;
  if (!is_integer || is_constant(type.shape)) return false;
  const auto positions = counted.of(node.output());
  const int64_t most = type.shape[0].range(graph.symbol_ranges).max;
  if (!positions.has_value() || most > kMostNumbers) return false;
  const Dim &first = positions->first, &step = positions->steps[0];
  if (!first.is_constant() || !step.is_constant()) return false;
  Value* const all = graph.add_constant(
      numbers(type.type, first.constant(), step.constant(), std::max<int64_t>(most, 0)));
  all->type = {type.type, {Dim(std::max<int64_t>(most, 0))}};
  Value* const part = add_op(
      graph, std::make_unique<Slice>(),
      {all, add_integers(graph, {0}), add_shape(graph, type.shape), add_integers(graph, {0})},
      node);
  stand_in(graph, node, part);
  return true;
}

}  // namespace

bool slice_positions(Graph& graph, PassContext& context) {
  CountedValues counted(graph);
  return for_each_allowed(graph, context,
                          [&](Node& node) { return rewrite(graph, node, counted); });
}

}  // namespace tenon
