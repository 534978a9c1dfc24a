#include "lower/symbolic_places.h"

#include "ops/ops.h"

namespace tenon {
namespace {

/// The contents of a vector that decides a shape; nothing where data does, or there is none.
std::optional<std::vector<Dim>> integers_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  const Tensor* constant = value->constant();
  if (constant == nullptr || !constant->defined()) return value->elements;
  std::vector<Dim> numbers;
  for (const int64_t number : constant->to_int64s()) numbers.emplace_back(number);
  return numbers;
}

int64_t axis_of(int64_t axis, const Value& value) {
  return axis < 0 ? axis + static_cast<int64_t>(value.type.shape.size()) : axis;
}

}  // namespace

Dim SymbolicPlaces::of(const std::optional<Dim>& expression, int64_t number) {
  if (expression.has_value() && expression->evaluate(graph_.symbols()) == number)
    return *expression;
  is_fixed_ |= !graph_.symbols().empty();
  return number;
}

Dim SymbolicPlaces::bytes(const Value& value) {
  return product(value.type.shape) * byte_size(value.type.type);
}

Dim SymbolicPlaces::sample_bytes(const Value& value) {
  Dim bytes = byte_size(value.type.type);
  for (size_t i = 1; i < value.type.shape.size(); ++i) bytes = bytes * value.type.shape[i];
  return bytes;
}

std::optional<Dim> SymbolicPlaces::offset(const Value& value) const {
  const Storage& storage = graph_.storage(&value);
  if (storage.root == &value) return Dim(0);
  // Where the symbols change nothing, the number is its own expression.
  if (graph_.symbols().empty()) return Dim(storage.offset);
  const Node* producer = value.producer();
  if (producer == nullptr || !graph_.is_view(*producer) || producer->is<Concat>())
    return inside_concat(value);
  const Value& source = *producer->input(0);
  const auto start = offset(source);
  const bool moves = producer->is<Slice>() || producer->is<Split>();
  if (!moves || !start.has_value()) return start;
  // Parts along one axis of whole rows begin at its stride; others keep their numbers.
  const int64_t inside = storage.offset - graph_.storage(&source).offset;
  if (inside == 0) return start;
  if (producer->is<Slice>()) {
    const auto begin = slice_start(*producer);
    return begin.has_value() ? std::optional(*start + *begin) : std::nullopt;
  }
  const auto* split = producer->as<Split>();
  const auto step = split != nullptr ? stride(source, axis_of(split->axis, source)) : std::nullopt;
  if (!step.has_value() || value.index() == 0) return std::nullopt;
  Dim rows = 0;
  for (int i = 0; i < value.index(); ++i)
    rows = rows + producer->output(i)->type.shape[axis_of(split->axis, source)];
  return *start + rows * *step;
}

/// Elements from the start of a slice's operand to those of its result.
std::optional<Dim> SymbolicPlaces::slice_start(const Node& slice) const {
  const Value& source = *slice.input(0);
  const auto starts = integers_of(slice.input(1));
  const auto axes = integers_of(slice.input(3));
  if (!starts.has_value() || (slice.has_input(3) && !axes.has_value())) return std::nullopt;
  Dim elements = 0;
  for (size_t i = 0; i < starts->size(); ++i) {
    const Dim number = axes.has_value() ? axes->at(i) : Dim(static_cast<int64_t>(i));
    if (!number.is_constant()) return std::nullopt;
    const int64_t axis = axis_of(number.constant(), source);
    const auto step = stride(source, axis);
    if (!step.has_value()) return std::nullopt;
    // Those that count from the end, where that is known.
    const Dim& begin = (*starts)[i];
    const bool from_end = begin.is_constant() && begin.constant() < 0;
    elements = elements + (from_end ? begin + source.type.shape[axis] : begin) * *step;
  }
  return elements;
}

std::optional<Dim> SymbolicPlaces::inside_concat(const Value& value) const {
  for (const Use& use : value.uses()) {
    const auto* concat = use.node->as<Concat>();
    if (concat == nullptr || !graph_.is_view(*use.node)) continue;
    const Value& whole = *use.node->output();
    if (graph_.storage(&whole).root != graph_.storage(&value).root) continue;
    const int64_t axis = axis_of(concat->axis, whole);
    const auto start = offset(whole);
    const auto step = stride(whole, axis);
    if (!start.has_value() || !step.has_value()) return std::nullopt;
    Dim rows = 0;
    for (int i = 0; i < use.index; ++i) rows = rows + use.node->input(i)->type.shape[axis];
    return *start + rows * *step;
  }
  return std::nullopt;
}

/// Of values that lie dense in their layout, and of parts of a concatenation.
std::optional<Dim> SymbolicPlaces::stride(const Value& value, int64_t axis) const {
  const Shape& shape = value.type.shape;
  if (!graph_.storage(&value).strides.empty()) return std::nullopt;
  const bool last_is_channels = value.type.layout == Layout::kChannelsLast;
  if (last_is_channels && axis == 1) return Dim(1);
  Dim stride = last_is_channels && axis > 1 ? shape[1] : Dim(1);
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) stride = stride * shape[i];
  return stride;
}

}  // namespace tenon
