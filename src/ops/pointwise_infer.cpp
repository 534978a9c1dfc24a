#include <fmt/format.h>

#include "ops/extent_rules.h"
#include "ops/math.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Sign of a - b over all values of the symbols, when it is always the same.
std::optional<int> compare(const Dim& a, const Dim& b, const SymbolRanges& ranges) {
  const Range difference = (a - b).range(ranges);
  if (difference.min > 0) return 1;
  if (difference.max < 0) return -1;
  if (difference.min == 0 && difference.max == 0) return 0;
  return std::nullopt;
}

std::optional<Dim> from_order(std::optional<int> order, bool less, bool equal, bool greater) {
  if (!order) return std::nullopt;
  return Dim(*order < 0 ? less : (*order > 0 ? greater : equal));
}

std::optional<Dim> fold_equal(const Dim& a, const Dim& b, const SymbolRanges& ranges) {
  const Range difference = (a - b).range(ranges);
  if (a == b) return Dim(1);
  if (difference.min > 0 || difference.max < 0) return Dim(0);
  return std::nullopt;
}

bool not_negative(const Dim& a, const SymbolRanges& ranges) {
  return a.range(ranges).min >= 0;
}

/// f(x, y, z) for integers as an expression, or nothing.
std::optional<Dim> fold(PointwiseFunction function, const Dim& x, const Dim& y, const Dim& z,
                        const SymbolRanges& ranges) {
  const bool positive = not_negative(x, ranges) && not_negative(y, ranges) && y != Dim(0);
  switch (function) {
    case PointwiseFunction::k_neg: return Dim(0) - x;
    case PointwiseFunction::k_abs: return not_negative(x, ranges) ? std::optional(x) : std::nullopt;
    case PointwiseFunction::k_relu: return max(x, 0);
    case PointwiseFunction::k_add: return x + y;
    case PointwiseFunction::k_sub: return x - y;
    case PointwiseFunction::k_mul: return x * y;
    case PointwiseFunction::k_div: return positive ? std::optional(floor_div(x, y)) : std::nullopt;
    case PointwiseFunction::k_fmod: return positive ? std::optional(mod(x, y)) : std::nullopt;
    case PointwiseFunction::k_floor_div:
      return y != Dim(0) ? std::optional(floor_div(x, y)) : std::nullopt;
    case PointwiseFunction::k_mod: return y != Dim(0) ? std::optional(mod(x, y)) : std::nullopt;
    case PointwiseFunction::k_min: return min(x, y);
    case PointwiseFunction::k_max: return max(x, y);
    case PointwiseFunction::k_equal: return fold_equal(x, y, ranges);
    case PointwiseFunction::k_greater: return from_order(compare(x, y, ranges), false, false, true);
    case PointwiseFunction::k_less: return from_order(compare(x, y, ranges), true, false, false);
    case PointwiseFunction::k_greater_equal:
      return from_order(compare(x, y, ranges), false, true, true);
    case PointwiseFunction::k_less_equal:
      return from_order(compare(x, y, ranges), true, true, false);
    case PointwiseFunction::k_where:
      return x.is_constant() ? std::optional(x.constant() != 0 ? y : z) : std::nullopt;
    default: return std::nullopt;
  }
}

/// Element of an operand of at most one axis at output element i.
const Dim& pick(const std::vector<Dim>& elements, size_t i) {
  return elements.size() == 1 ? elements[0] : elements[i];
}

/// Contents of the result from contents of the operands; vectors and scalars only.
void propagate_elements(const Pointwise& op, InferContext& context, const Shape& shape) {
  const int arity = context.input_count();
  if (shape.size() > 1 || !is_constant(shape)) return;
  const auto count = static_cast<size_t>(element_count(constants(shape)));
  std::vector<std::vector<Dim>> operands(3, {Dim(0)});
  for (int i = 0; i < arity; ++i) {
    auto elements = context.elements(i);
    if (!elements || (elements->size() != 1 && elements->size() != count)) return;
    operands[i] = std::move(*elements);
  }
  const SymbolRanges& ranges = context.node().graph().symbol_ranges;
  std::vector<Dim> result;
  for (size_t i = 0; i < count; ++i) {
    const auto element =
        fold(op.function, pick(operands[0], i), pick(operands[1], i), pick(operands[2], i), ranges);
    if (!element) return;
    result.push_back(*element);
  }
  context.set_elements(0, std::move(result));
}

Status check_type(const PointwiseInfo& info, DataType type, const InferContext& context) {
  const bool fits = (info.category != PointwiseClass::arithmetic || type != DataType::kBool) &&
                    (info.category != PointwiseClass::real || is_real(type)) &&
                    (info.category != PointwiseClass::logical || type == DataType::kBool) &&
                    (info.category != PointwiseClass::bitwise || is_integer(type));
  if (fits) return {};
  return context.fail(fmt::format("not defined for type {}", name_of(type)));
}

}  // namespace

Status infer(const Pointwise& op, InferContext& context) {
  const PointwiseInfo& info = pointwise_info(op.function);
  if (context.input_count() != info.arity)
    return context.fail(fmt::format("takes {} operands", info.arity));
  for (int i = 0; i < info.arity; ++i)
    if (!context.has_input(i)) return context.fail(fmt::format("operand {} is missing", i));
  const bool chooses = info.category == PointwiseClass::choose;
  if (chooses && context.input(0).type != DataType::kBool)
    return context.fail("the first operand must be of type bool");
  const int first = chooses ? 1 : 0;
  const DataType type = context.input(first).type;
  TENON_TRY(check_type(info, type, context));
  Shape shape = context.shape(0);
  for (int i = 1; i < info.arity; ++i) {
    if (i > first && context.input(i).type != type)
      return context.fail("the operands must be of one type");
    auto joined = joined_shape(shape, context.shape(i), context);
    if (!joined.ok()) return context.fail(joined.error().message);
    shape = std::move(*joined);
  }
  const bool gives_bool =
      info.category == PointwiseClass::compare || info.category == PointwiseClass::logical;
  context.set_output(0, gives_bool ? DataType::kBool : type, shape);
  propagate_elements(op, context, shape);
  return {};
}

}  // namespace tenon
