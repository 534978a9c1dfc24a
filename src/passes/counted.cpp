#include "passes/counted.h"

#include <algorithm>

#include "passes/match.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// Larger constants are not looked through.
constexpr int64_t kMostElements = 1 << 20;

/// Places of one element of a row-major tensor, counted up by next().
class Places {
 public:
  explicit Places(const Extents& extents) : extents_(extents), at_(extents.size(), 0) {}
  const std::vector<int64_t>& at() const { return at_; }
  void next() {
    for (size_t axis = at_.size(); axis-- > 0;) {
      if (++at_[axis] < extents_[axis]) return;
      at_[axis] = 0;
    }
  }

 private:
  const Extents& extents_;
  std::vector<int64_t> at_;
};

std::optional<Counted> of_constant(const Tensor& tensor) {
  if (!tensor.defined() || tensor.count() == 0 || tensor.count() > kMostElements)
    return std::nullopt;
  const int64_t first = tensor.as_int64(0);
  std::vector<int64_t> steps(tensor.extents().size(), 0);
  int64_t stride = 1;
  for (size_t axis = steps.size(); axis-- > 0; stride *= tensor.extents()[axis])
    if (tensor.extents()[axis] > 1) steps[axis] = tensor.as_int64(stride) - first;
  Places places(tensor.extents());
  for (int64_t i = 0; i < tensor.count(); ++i, places.next()) {
    int64_t expected = first;
    for (size_t axis = 0; axis < steps.size(); ++axis) expected += steps[axis] * places.at()[axis];
    if (tensor.as_int64(i) != expected) return std::nullopt;
  }
  return Counted{Dim(first), {steps.begin(), steps.end()}};
}

/// The elements of a small operand, where they are known.
std::optional<std::vector<Dim>> numbers(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const Tensor* constant = value->constant(); constant != nullptr && constant->defined()) {
    const std::vector<int64_t> known = constant->to_int64s();
    return std::vector<Dim>(known.begin(), known.end());
  }
  return value->elements;
}

std::optional<Dim> number(const Value* value) {
  const auto known = numbers(value);
  return known.has_value() && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
}

Counted of_number(const Dim& number, size_t rank) {
  return {number, std::vector<Dim>(rank, Dim(0))};
}

}  // namespace

bool Counted::is_uniform() const {
  return std::ranges::all_of(steps, [](const Dim& step) { return step == Dim(0); });
}

bool Counted::counts_up(const Shape& shape) const {
  Dim expected(1);
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == Dim(1)) continue;
    if (!(steps[axis] == expected)) return false;
    expected = expected * shape[axis];
  }
  return true;
}

std::optional<Counted> CountedValues::of(const Value* value) {
  if (value == nullptr || !is_integer(value->type.type)) return std::nullopt;
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  std::optional<Counted> counted = find(value);
  if (counted.has_value())
    for (size_t axis = 0; axis < counted->steps.size(); ++axis)
      if (value->type.shape[axis] == Dim(1)) counted->steps[axis] = Dim(0);
  known_[value] = counted;
  return counted;
}

std::optional<Counted> CountedValues::find(const Value* value) {
  const Node* const node = value->producer();
  const size_t rank = value->type.shape.size();
  if (const Tensor* constant = value->constant()) return of_constant(*constant);
  if (const auto& known = value->elements; known.has_value() && known->size() == 1)
    return of_number(known->front(), rank);
  if (node == nullptr) return std::nullopt;
  if (node->is<RangeOf>()) return of_range(*node);
  if (is_reshape(node)) return reshaped(node->input(0), value->type.shape);
  if (node->is<Expand>()) return broadcast(node->input(0), value->type.shape);
  if (node->is<Cast>()) return of_cast(*node);
  if (node->is<Slice>()) return of_slice(*node);
  if (node->is<Pointwise>()) return of_pointwise(*node);
  if (node->is<Gather>() || node->is<GatherElements>()) {
    const auto data = of(node->input(0));
    if (data.has_value() && data->is_uniform()) return of_number(data->first, rank);
  }
  return std::nullopt;
}

std::optional<Counted> CountedValues::of_range(const Node& node) {
  const auto first = number(node.input(0)), step = number(node.input(2));
  if (!first.has_value() || !step.has_value()) return std::nullopt;
  return Counted{*first, {*step}};
}

/// A cast keeps integers that the new type holds.
std::optional<Counted> CountedValues::of_cast(const Node& node) {
  const DataType to = node.output()->type.type;
  const auto counted = of(node.input(0));
  if (!counted.has_value() || (to != DataType::kInt64 && to != DataType::kInt32))
    return std::nullopt;
  const auto values = range(*counted, node.output()->type.shape);
  const bool fits = to == DataType::kInt64 ||
                    (values.has_value() && values->min >= INT32_MIN && values->max <= INT32_MAX);
  return fits ? counted : std::nullopt;
}

std::optional<Counted> CountedValues::of_slice(const Node& node) {
  auto counted = of(node.input(0));
  const auto starts = numbers(node.input(1));
  if (!counted.has_value() || !starts.has_value()) return std::nullopt;
  const auto integers = [&](int input) -> std::optional<std::vector<int64_t>> {
    if (!node.has_input(input)) return std::vector<int64_t>();
    const Tensor* const constant = node.input(input)->constant();
    return constant == nullptr ? std::nullopt : std::optional(constant->to_int64s());
  };
  const auto axes = integers(3), steps = integers(4);
  if (!axes.has_value() || !steps.has_value()) return std::nullopt;
  const auto rank = static_cast<int64_t>(counted->steps.size());
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t given = axes->empty() ? static_cast<int64_t>(i) : (*axes)[i];
    Dim& step = counted->steps[static_cast<size_t>(given < 0 ? given + rank : given)];
    const Dim& start = (*starts)[i];
    const int64_t each = steps->empty() ? 1 : (*steps)[i];
    if (step == Dim(0)) continue;
    // Negative starts count from the end, and starts behind the end are clamped: not followed.
    if (!start.is_constant() || start.constant() < 0 || each < 1) return std::nullopt;
    counted->first = counted->first + step * start;
    step = step * Dim(each);
  }
  return counted;
}

/// Axes of one element come and go.
std::optional<Counted> CountedValues::reshaped(const Value* from, const Shape& to) {
  const auto counted = of(from);
  if (!counted.has_value()) return std::nullopt;
  Counted result = of_number(counted->first, to.size());
  const Shape& shape = from->type.shape;
  size_t at = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == Dim(1)) continue;
    while (at < to.size() && to[at] == Dim(1)) ++at;
    if (at == to.size() || !(to[at] == shape[axis])) return std::nullopt;
    result.steps[at++] = counted->steps[axis];
  }
  return std::all_of(to.begin() + at, to.end(), [](const Dim& dim) { return dim == Dim(1); })
             ? std::optional(result)
             : std::nullopt;
}

std::optional<Counted> CountedValues::broadcast(const Value* value, const Shape& to) {
  const auto counted = of(value);
  const Shape& shape = value->type.shape;
  if (!counted.has_value() || shape.size() > to.size()) return std::nullopt;
  Counted result = of_number(counted->first, to.size());
  const size_t ahead = to.size() - shape.size();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    // An extent that may be 1 at run time is one along which it may be repeated.
    if (!(shape[axis] == Dim(1)) && !(shape[axis] == to[ahead + axis])) return std::nullopt;
    result.steps[ahead + axis] = counted->steps[axis];
  }
  return result;
}

std::optional<Counted> CountedValues::of_pointwise(const Node& node) {
  const PointwiseFunction function = node.as<Pointwise>()->function;
  if (function != k_add && function != k_sub && function != k_mul) return std::nullopt;
  const Shape& shape = node.output()->type.shape;
  if (function == k_sub) return difference(node.input(0), node.input(1), shape);
  auto a = broadcast(node.input(0), shape), b = broadcast(node.input(1), shape);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  if (function == k_mul) {
    if (!b->is_uniform()) std::swap(a, b);
    if (!b->is_uniform()) return std::nullopt;
    a->first = a->first * b->first;
    for (Dim& step : a->steps) step = step * b->first;
    return a;
  }
  a->first = a->first + b->first;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    a->steps[axis] = a->steps[axis] + b->steps[axis];
  return a;
}

std::optional<Counted> CountedValues::difference(const Value* a, const Value* b,
                                                 const Shape& shape) {
  auto result = broadcast(a, shape);
  const auto taken = broadcast(b, shape);
  if (!result.has_value() || !taken.has_value()) return std::nullopt;
  result->first = result->first - taken->first;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    result->steps[axis] = result->steps[axis] - taken->steps[axis];
  return result;
}

std::optional<Range> CountedValues::range(const Counted& counted, const Shape& shape) const {
  Dim least = counted.first, most = counted.first;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Range step = counted.steps[axis].range(graph_.symbol_ranges);
    const bool is_empty_at_times = shape[axis].range(graph_.symbol_ranges).min < 1;
    const Dim last = counted.steps[axis] *
                     (is_empty_at_times ? max(shape[axis] - Dim(1), Dim(0)) : shape[axis] - Dim(1));
    if (step.min >= 0)
      most = most + last;
    else if (step.max <= 0)
      least = least + last;
    else
      return std::nullopt;
  }
  return Range{least.range(graph_.symbol_ranges).min, most.range(graph_.symbol_ranges).max};
}

}  // namespace tenon
