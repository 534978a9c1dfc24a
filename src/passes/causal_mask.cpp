#include "passes/causal_mask.h"

#include <algorithm>
#include <cmath>

#include "ops/fill_value.h"
#include "passes/match.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

constexpr int kMaxDepth = 24;

/// A value as a function of row i and column j, the last two axes.
struct Form {
  enum Kind {
    kUniform,   ///< below
    kTriangle,  ///< j <= i + offset ? below : above
    kColumns,   ///< j + offset
    kRows,      ///< i + offset
    kDistance,  ///< i - j + offset
  };
  Kind kind = kUniform;
  double below = 0, above = 0;
  Dim offset;

  bool is_position() const { return kind != kUniform && kind != kTriangle; }
};
using MaybeForm = std::optional<Form>;

Form uniform(double value) {
  return {Form::kUniform, value, value, {}};
}

MaybeForm triangle(Dim offset, bool below, bool above) {
  return Form{Form::kTriangle, below ? 1.0 : 0.0, above ? 1.0 : 0.0, std::move(offset)};
}

MaybeForm form_of(const Value* value, int depth);

/// An integer as an expression.
std::optional<Dim> integer_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->elements.has_value() && value->elements->size() == 1) return value->elements->front();
  const auto number = scalar_of(value);
  if (!number.has_value() || *number != std::floor(*number) || std::abs(*number) > 1e9)
    return std::nullopt;
  return Dim(static_cast<int64_t>(*number));
}

/// The elements of an integer tensor.
std::optional<std::vector<Dim>> integers_of(const Value* value) {
  if (value->elements.has_value()) return value->elements;
  if (value->constant() == nullptr) return std::nullopt;
  return to_shape(value->constant()->to_int64s());
}

/// A constant of one matrix as a triangle of two values.
MaybeForm constant_triangle(const Tensor& tensor) {
  if (tensor.rank() < 2) return std::nullopt;
  const int64_t rows = tensor.extents()[tensor.rank() - 2], columns = tensor.extents().back();
  if (rows < 2 || columns < 2 || tensor.count() != rows * columns) return std::nullopt;
  Form form{Form::kTriangle, tensor.as_double(0), tensor.as_double(columns - 1), {}};
  if (form.below == form.above) {  // Row 0 is below throughout, or above.
    const double last = tensor.as_double((rows - 1) * columns);
    if (last == form.above) return std::nullopt;
    form.below = last;
  }
  int64_t offset = -1;
  while (offset + 1 < columns && tensor.as_double(offset + 1) == form.below) ++offset;
  // Of a row that is above throughout only the first one below tells where the edge is.
  for (int64_t i = 1; offset < 0 && i < rows && tensor.as_double((i - 1) * columns) == form.above;
       ++i)
    if (tensor.as_double(i * columns) == form.below) {
      offset = -i;
      break;
    }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (tensor.as_double(i * columns + j) != (j <= i + offset ? form.below : form.above))
        return std::nullopt;
  form.offset = Dim(offset);
  return form;
}

/// 3, 4, 5, ... along the last axis or the one before.
MaybeForm constant_positions(const Tensor& tensor) {
  if (tensor.rank() < 1 || tensor.count() < 2) return std::nullopt;
  const bool columns = tensor.extents().back() == tensor.count();
  if (!columns && (tensor.rank() < 2 || tensor.extents()[tensor.rank() - 2] != tensor.count()))
    return std::nullopt;
  const double first = tensor.as_double(0);
  if (first != std::floor(first)) return std::nullopt;
  for (int64_t i = 1; i < tensor.count(); ++i)
    if (tensor.as_double(i) != first + static_cast<double>(i)) return std::nullopt;
  return Form{columns ? Form::kColumns : Form::kRows, 0, 0, Dim(static_cast<int64_t>(first))};
}

MaybeForm form_of_constant(const Value& value) {
  const Tensor& tensor = *value.constant();
  if (tensor.count() > (1 << 24)) return std::nullopt;
  if (const auto number = scalar_of(&value)) return uniform(*number);
  if (const MaybeForm positions = constant_positions(tensor)) return positions;
  return constant_triangle(tensor);
}

MaybeForm form_of_range(const Node& node) {
  const auto start = integer_of(node.input(0));
  if (!start.has_value() || integer_of(node.input(2)) != std::optional(Dim(1))) return std::nullopt;
  return Form{Form::kColumns, 0, 0, *start};
}

/// Expands and reshapes: matrices keep their axes, positions may go from one axis to another.
MaybeForm form_of_reshape(const Node& node, int depth) {
  MaybeForm form = form_of(node.input(0), depth);
  if (!form.has_value() || form->kind == Form::kUniform) return form;
  const Shape &from = node.input(0)->type.shape, &to = node.output()->type.shape;
  const auto back = [](const Shape& shape, size_t i) {
    return i < shape.size() ? shape[shape.size() - 1 - i] : Dim(1);
  };
  const bool keeps_both = back(from, 0) == back(to, 0) && back(from, 1) == back(to, 1);
  if (keeps_both) return form;
  if (form->kind == Form::kTriangle || form->kind == Form::kDistance) return std::nullopt;
  const size_t at = form->kind == Form::kColumns ? 0 : 1;
  if (!(back(from, 1 - at) == Dim(1))) return std::nullopt;
  if (node.is<Expand>() && back(to, at) == back(from, at)) return form;
  for (const size_t other : {0, 1}) {
    if (!(back(to, other) == back(from, at)) || !(back(to, 1 - other) == Dim(1))) continue;
    form->kind = other == 0 ? Form::kColumns : Form::kRows;
    return form;
  }
  return std::nullopt;
}

MaybeForm form_of_trilu(const Node& node, int depth) {
  const MaybeForm inside = form_of(node.input(0), depth);
  const auto k = node.has_input(1) ? integer_of(node.input(1)) : std::optional(Dim(0));
  if (!inside.has_value() || inside->kind != Form::kUniform || !k.has_value()) return std::nullopt;
  if (node.as<Trilu>()->upper) return Form{Form::kTriangle, 0, inside->below, *k - Dim(1)};
  return Form{Form::kTriangle, inside->below, 0, *k};
}

/// Rows and columns from symbolic places on.
MaybeForm form_of_slice(const Node& node, int depth) {
  MaybeForm form = form_of(node.input(0), depth);
  const Tensor* axes = node.has_input(3) ? node.input(3)->constant() : nullptr;
  const auto starts = integers_of(node.input(1));
  if (!form.has_value() || axes == nullptr || !starts.has_value()) return std::nullopt;
  if (node.has_input(4) && !is_scalar(node.input(4), 1)) return std::nullopt;
  const Shape& shape = node.input(0)->type.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t i = 0; i < axes->count(); ++i) {
    const int64_t axis = axes->as_int64(i) < 0 ? axes->as_int64(i) + rank : axes->as_int64(i);
    Dim start = (*starts)[i];
    if (start.is_constant() && start.constant() < 0) start = start + shape[axis];
    const bool row = axis == rank - 2, column = axis == rank - 1;
    if (row && form->kind != Form::kColumns) form->offset = form->offset + start;
    if (column && form->kind == Form::kColumns) form->offset = form->offset + start;
    if (column && (form->kind == Form::kTriangle || form->kind == Form::kDistance))
      form->offset = form->offset - start;
  }
  return form;
}

MaybeForm form_of_cast(const Node& node, int depth) {
  MaybeForm form = form_of(node.input(0), depth);
  if (!form.has_value() || form->is_position() || node.output()->type.type != DataType::kBool)
    return form;
  form->below = form->below != 0 ? 1 : 0;
  form->above = form->above != 0 ? 1 : 0;
  return form;
}

/// The comparison of `j` with `i + offset`, or with the operands exchanged.
MaybeForm compared(PointwiseFunction function, const Dim& offset, bool column_first) {
  const Dim before = offset - Dim(1);
  switch (function) {
    case k_less_equal:
      return column_first ? triangle(offset, true, false) : triangle(before, false, true);
    case k_less:
      return column_first ? triangle(before, true, false) : triangle(offset, false, true);
    case k_greater_equal:
      return column_first ? triangle(before, false, true) : triangle(offset, true, false);
    case k_greater:
      return column_first ? triangle(offset, false, true) : triangle(before, true, false);
    default: return std::nullopt;
  }
}

/// Sums, differences and comparisons with positions.
MaybeForm of_positions(PointwiseFunction function, const Node& node, const Form& a, const Form& b) {
  if (a.kind == Form::kColumns && b.kind == Form::kRows) {
    if (function != k_sub) return compared(function, b.offset - a.offset, true);
    return std::nullopt;
  }
  if (a.kind == Form::kRows && b.kind == Form::kColumns) {
    const Dim offset = a.offset - b.offset;
    if (function == k_sub) return Form{Form::kDistance, 0, 0, offset};
    return compared(function, offset, false);
  }
  const bool number_second = b.kind == Form::kUniform;
  const auto number = integer_of(node.input(number_second ? 1 : 0));
  if (!number.has_value() || a.is_position() == b.is_position()) return std::nullopt;
  Form position = number_second ? a : b;
  if (function == k_add || (function == k_sub && number_second)) {
    position.offset = function == k_add ? position.offset + *number : position.offset - *number;
    return position;
  }
  // i - j + offset against a number: j against i + offset - number, where order turns around.
  if (position.kind != Form::kDistance) return std::nullopt;
  return compared(function, position.offset - *number, !number_second);
}

std::optional<double> applied(PointwiseFunction function, double x, double y, double z) {
  switch (function) {
    case k_not: return x == 0;
    case k_neg: return -x;
    case k_add: return x + y;
    case k_sub: return x - y;
    case k_mul: return x * y;
    case k_max: return std::max(x, y);
    case k_min: return std::min(x, y);
    case k_equal: return x == y;
    case k_greater: return x > y;
    case k_less: return x < y;
    case k_greater_equal: return x >= y;
    case k_less_equal: return x <= y;
    case k_and: return x != 0 && y != 0;
    case k_or: return x != 0 || y != 0;
    case k_where: return x != 0 ? y : z;
    default: return std::nullopt;
  }
}

MaybeForm form_of_pointwise(const Node& node, int depth) {
  const PointwiseFunction function = node.as<Pointwise>()->function;
  Form operands[3];
  const size_t count = node.inputs().size();
  for (size_t i = 0; i < count; ++i) {
    const MaybeForm form = form_of(node.input(static_cast<int>(i)), depth);
    if (!form.has_value()) return std::nullopt;
    operands[i] = *form;
  }
  const bool any_position =
      std::any_of(operands, operands + count, [](const Form& form) { return form.is_position(); });
  if (any_position)
    return count == 2 ? of_positions(function, node, operands[0], operands[1]) : std::nullopt;
  Form result;
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].kind == Form::kUniform) continue;
    if (result.kind == Form::kTriangle && !(result.offset == operands[i].offset))
      return std::nullopt;
    result.kind = Form::kTriangle;
    result.offset = operands[i].offset;
  }
  const auto below = applied(function, operands[0].below, operands[1].below, operands[2].below);
  const auto above = applied(function, operands[0].above, operands[1].above, operands[2].above);
  if (!below.has_value()) return std::nullopt;
  result.below = *below;
  result.above = *above;
  return result;
}

MaybeForm form_of(const Value* value, int depth) {
  if (value == nullptr || depth > kMaxDepth) return std::nullopt;
  if (value->constant() != nullptr) return form_of_constant(*value);
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  if (node->is<Pointwise>()) return form_of_pointwise(*node, depth + 1);
  if (node->is<Cast>()) return form_of_cast(*node, depth + 1);
  if (node->is<RangeOf>()) return form_of_range(*node);
  if (node->is<Trilu>()) return form_of_trilu(*node, depth + 1);
  if (node->is<Slice>()) return form_of_slice(*node, depth + 1);
  if (const auto* fill = node->as<Fill>()) return uniform(fill_value(*fill).as_double(0));
  if (is_reshape(node) || node->is<Expand>()) return form_of_reshape(*node, depth + 1);
  return std::nullopt;
}

}  // namespace

std::optional<Triangle> triangle_of(const Value* value) {
  const MaybeForm form = form_of(value, 0);
  if (!form.has_value() || form->kind != Form::kTriangle || form->below == form->above)
    return std::nullopt;
  return Triangle{form->below, form->above, form->offset};
}

}  // namespace tenon
