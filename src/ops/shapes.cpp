#include "ops/shapes.h"

#include <algorithm>

#include "ops/extent_rules.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Consecutive numbers standing for the elements of an input, appended to `table`; nothing when the
/// elements are unknown.
std::optional<Tensor> number_elements(const InferContext& context, int index,
                                      std::vector<Dim>& table) {
  const auto elements = context.elements(index);
  if (!elements || !is_constant(context.shape(index))) return std::nullopt;
  Tensor numbers(DataType::kInt64, constants(context.shape(index)));
  if (numbers.count() != static_cast<int64_t>(elements->size())) return std::nullopt;
  for (size_t i = 0; i < elements->size(); ++i) {
    numbers.mutable_values<int64_t>()[i] = static_cast<int64_t>(table.size());
    table.push_back((*elements)[i]);
  }
  return numbers;
}

std::optional<Tensor> known_operand(const InferContext& context, int index) {
  if (const Tensor* tensor = context.constant(index)) return *tensor;
  const auto values = context.integers(index);
  if (!values || !is_constant(context.shape(index))) return std::nullopt;
  const Extents extents = constants(context.shape(index));
  if (element_count(extents) != static_cast<int64_t>(values->size())) return std::nullopt;
  return Tensor::of<int64_t>(DataType::kInt64, extents, *values);
}

bool outputs_are_small(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(), [](const Value* output) {
    return !is_real(output->type.type) && is_constant(output->type.shape) &&
           element_count(constants(output->type.shape)) <= kMaxKnownElements;
  });
}

}  // namespace

Error Fail::text(std::string_view what) const {
  if (node_ != nullptr) return user_error("'{}': {}", node_->name, what);
  return infer_ != nullptr ? infer_->fail(what) : eval_->fail(what);
}

Result<int> resolve_axis(int64_t axis, int rank, const Fail& fail) {
  if (axis < -rank || axis >= rank)
    return fail("axis {} is outside [{}, {}) of a tensor of rank {}", axis, -rank, rank, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int>> resolve_axes(std::span<const int64_t> axes, int rank, const Fail& fail) {
  std::vector<int> resolved;
  for (const int64_t axis : axes) {
    TENON_ASSIGN(const int one, resolve_axis(axis, rank, fail));
    if (std::find(resolved.begin(), resolved.end(), one) != resolved.end())
      return fail("axis {} is given twice", axis);
    resolved.push_back(one);
  }
  return resolved;
}

Result<int64_t> place_of(int64_t index, int64_t extent, const Fail& fail) {
  if (index < -extent || index >= extent)
    return fail("index {} is outside [{}, {})", index, -extent, extent);
  return index < 0 ? index + extent : index;
}

Shape shape_of(const Tensor& tensor) {
  return to_shape(tensor.extents());
}

Result<Extents> concrete(const Shape& shape, const Fail& fail) {
  if (!is_constant(shape)) return fail("the output shape {} has no value", to_string(shape));
  Extents extents = constants(shape);
  const auto bytes = checked_byte_count(DataType::kFloat64, extents);
  if (!bytes.ok()) return fail("output: {}", bytes.error().message);
  return extents;
}

Status expect_rank(const Shape& shape, int rank, std::string_view what, const Fail& fail) {
  if (static_cast<int>(shape.size()) == rank) return {};
  return fail("{} must have rank {}, not {}", what, rank, shape.size());
}

bool surely_differ(const Dim& a, const Dim& b) {
  if (!(a == b) && !(a.is_constant() && b.is_constant()))
    ExtentNotes::append({ExtentRule::Kind::kEqual, a, b, a});
  return a.is_constant() && b.is_constant() && a.constant() != b.constant();
}

Status expect_equal(const Dim& a, const Dim& b, std::string_view what, const Fail& fail) {
  if (!surely_differ(a, b)) return {};
  return fail("{}: {} and {} must be equal", what, a.constant(), b.constant());
}

int64_t count_between(const Extents& extents, int begin, int end) {
  int64_t count = 1;
  for (int i = begin; i < end; ++i) count *= extents[i];
  return count;
}

Status expect_integers(const InferContext& context, int index, std::string_view what) {
  const DataType type = context.input(index).type;
  if (!is_real(type)) return {};
  return context.fail(fmt::format("{} must be integers, not {}", what, name_of(type)));
}

Result<std::vector<int64_t>> integers_of(const EvalContext& context, int index) {
  const Tensor& tensor = context.input(index);
  if (is_real(tensor.type()))
    return context.fail(fmt::format("input {} must hold integers", index));
  return tensor.to_int64s();
}

Result<int64_t> integer_of(const EvalContext& context, int index, int64_t absent) {
  if (!context.has_input(index)) return absent;
  TENON_ASSIGN(const std::vector<int64_t> values, integers_of(context, index));
  if (values.size() != 1)
    return context.fail(
        fmt::format("input {} must have one element, not {}", index, values.size()));
  return values[0];
}

Range range_of(const Dim& dim, const InferContext& context) {
  return dim.range(context.node().graph().symbol_ranges);
}

Dim lesser(const Dim& a, const Dim& b, const InferContext& context) {
  if (a == b || range_of(b - a, context).min >= 0) return a;
  if (range_of(a - b, context).min >= 0) return b;
  return min(a, b);
}

Dim greater(const Dim& a, const Dim& b, const InferContext& context) {
  if (a == b || range_of(a - b, context).min >= 0) return a;
  if (range_of(b - a, context).min >= 0) return b;
  return max(a, b);
}

void move_elements(InferContext& context, int data_inputs) {
  if (!outputs_are_small(context.node())) return;
  std::vector<Dim> table;
  std::vector<Tensor> tensors(context.input_count());
  std::vector<const Tensor*> inputs(tensors.size(), nullptr);
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    auto tensor = i < data_inputs ? number_elements(context, i, table) : known_operand(context, i);
    if (!tensor) return;
    tensors[i] = std::move(*tensor);
    inputs[i] = &tensors[i];
  }
  const auto moved = evaluate_node(context.node(), inputs);
  if (!moved.ok()) return;
  for (size_t i = 0; i < moved->size(); ++i) {
    std::vector<Dim> elements;
    for (const int64_t number : (*moved)[i].values<int64_t>()) elements.push_back(table[number]);
    context.set_elements(static_cast<int>(i), std::move(elements));
  }
}

}  // namespace tenon
