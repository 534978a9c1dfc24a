// Tensors made from a few numbers.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/arithmetic.h"
#include "ir/element.h"
#include "ops/fill_value.h"
#include "ops/generate.h"
#include "ops/given_shape.h"
#include "ops/reals.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr std::string_view kRangeOfScalars = "start, limit and step must be scalars";

int64_t steps_between(double start, double limit, double delta) {
  const double steps = std::ceil((limit - start) / delta);
  return steps > 0 ? saturate_to<int64_t>(steps) : 0;
}

int64_t integer_steps(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const auto a = static_cast<uint64_t>(start), b = static_cast<uint64_t>(limit);
  const uint64_t distance = delta > 0 ? b - a : a - b;
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
  const uint64_t steps = (distance - 1) / step + 1;
  return steps > INT64_MAX ? INT64_MAX : static_cast<int64_t>(steps);
}

Result<int64_t> range_length(const Tensor& start, const Tensor& limit, const Tensor& delta,
                             const Fail& fail) {
  for (const Tensor* operand : {&start, &limit, &delta})
    if (operand->count() != 1) return fail(kRangeOfScalars);
  if (start.type() != limit.type() || start.type() != delta.type())
    return fail("start, limit and step differ in type");
  if (delta.as_double(0) == 0) return fail("the step is 0");
  return is_real(start.type())
             ? steps_between(start.as_double(0), limit.as_double(0), delta.as_double(0))
             : integer_steps(start.as_int64(0), limit.as_int64(0), delta.as_int64(0));
}

Result<Shape> one_hot_shape(const OneHot& op, const Shape& indices, const Dim& depth,
                            const Fail& fail) {
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, static_cast<int>(indices.size()) + 1, fail));
  Shape shape = indices;
  shape.insert(shape.begin() + axis, depth);
  return shape;
}

}  // namespace

static Status infer_range_elements(InferContext& context, const Dim& start, const Dim& limit,
                                   const Dim& delta) {
  const int64_t step = delta.constant();
  const Dim distance = step > 0 ? limit - start : start - limit;
  const int64_t stride = step > 0 ? step : saturating_negate(step);
  const Dim count = greater(ceil_div(distance, stride), 0, context);
  context.set_output(0, context.input(0).type, {count});
  if (!count.is_constant() || count.constant() > kMaxKnownElements) return {};
  std::vector<Dim> elements;
  for (int64_t i = 0; i < count.constant(); ++i) elements.push_back(start + Dim(i) * delta);
  context.set_elements(0, std::move(elements));
  return {};
}

Status infer(const RangeOf&, InferContext& context) {
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).type != context.input(0).type)
      return context.fail("start, limit and step differ in type");
    const Dim count = product(context.shape(i));
    if (count.is_constant() && count.constant() != 1) return context.fail(kRangeOfScalars);
  }
  const Tensor *start = context.constant(0), *limit = context.constant(1);
  const Tensor* delta = context.constant(2);
  if (start != nullptr && limit != nullptr && delta != nullptr) {
    TENON_ASSIGN(const int64_t length, range_length(*start, *limit, *delta, context));
    return context.finish(context.input(0).type, {length});
  }
  const auto a = context.elements(0), b = context.elements(1), step = context.elements(2);
  if (a && b && step && a->size() == 1 && b->size() == 1 && step->size() == 1 &&
      (*step)[0].is_constant() && (*step)[0].constant() != 0)
    return infer_range_elements(context, (*a)[0], (*b)[0], (*step)[0]);
  return context.finish(context.input(0).type, {context.data_dependent(kUnbounded)});
}

Status evaluate(const RangeOf&, EvalContext& context) {
  const Tensor &start = context.input(0), &delta = context.input(2);
  TENON_ASSIGN(const int64_t length, range_length(start, context.input(1), delta, context));
  TENON_ASSIGN(const Extents extents, concrete({length}, context));
  Tensor& y = context.make_output(0, start.type(), extents);
  with_element(start.type(), [&](auto element) {
    using E = decltype(element);
    using Storage = typename E::Storage;
    const auto load = [](const Tensor& t) {
      return E::load(*reinterpret_cast<const Storage*>(t.bytes()));
    };
    auto* to = reinterpret_cast<Storage*>(y.mutable_bytes());
    for (int64_t i = 0; i < length; ++i) {
      using Compute = typename E::Compute;
      if constexpr (std::is_integral_v<Compute>)
        to[i] = E::store(
            static_cast<Compute>(static_cast<uint64_t>(load(start)) +
                                 static_cast<uint64_t>(i) * static_cast<uint64_t>(load(delta))));
      else
        to[i] = E::store(load(start) + static_cast<Compute>(i) * load(delta));
    }
  });
  return {};
}

Status infer(const Fill& op, InferContext& context) {
  const Tensor value = fill_value(op);
  if (value.count() != 1) return context.fail("the value must have one element");
  TENON_ASSIGN(const Shape target, given_shape(context));
  context.set_output(0, value.type(), target);
  if (is_real(value.type()) || !is_constant(target)) return {};
  const int64_t count = element_count(constants(target));
  if (count <= kMaxKnownElements)
    context.set_elements(0, std::vector<Dim>(count, Dim(value.as_int64(0))));
  return {};
}

Status evaluate(const Fill& op, EvalContext& context) {
  TENON_ASSIGN(const Extents extents, given_extents(context));
  const Tensor value = fill_value(op);
  if (value.count() != 1) return context.fail("the value must have one element");
  Tensor& y = context.make_output(0, value.type(), extents);
  fill_elements(y.mutable_bytes(), value.bytes(), y.count(), byte_size(value.type()));
  return {};
}

Status infer(const EyeLike& op, InferContext& context) {
  TENON_TRY(expect_rank(context.shape(0), 2, "x", context));
  return context.finish(op.same_type ? context.input(0).type : op.to, context.shape(0));
}

Status evaluate(const EyeLike& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_TRY(expect_rank(shape_of(x), 2, "x", context));
  Tensor& y = context.make_output(0, op.same_type ? x.type() : op.to, x.extents());
  if (y.count() == 0) return {};
  const Tensor zero = tensor_of_values<float>(y.type(), {}, {0.0f});
  fill_elements(y.mutable_bytes(), zero.bytes(), y.count(), byte_size(y.type()));
  for (int64_t row = 0; row < x.extents()[0]; ++row) {
    const int64_t column = saturating_add(row, op.k);
    if (column >= 0 && column < x.extents()[1]) y.set_from_double(row * x.extents()[1] + column, 1);
  }
  return {};
}

Status infer(const OneHot& op, InferContext& context) {
  const Tensor* constant = context.constant(1);
  const auto known = context.elements(1);
  Dim depth;
  if (constant != nullptr && constant->count() == 1)
    depth = constant->as_int64(0);
  else if (known && known->size() == 1)
    depth = (*known)[0];
  else
    depth = context.data_dependent(kUnbounded);
  if (depth.is_constant() && depth.constant() < 0) return context.fail("the depth is negative");
  TENON_ASSIGN(Shape shape, one_hot_shape(op, context.shape(0), depth, context));
  return context.finish(context.input(2).type, std::move(shape));
}

Status evaluate(const OneHot& op, EvalContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(2);
  if (context.input(1).count() != 1 || values.count() != 2)
    return context.fail("the depth must be one number and the values two");
  const int64_t depth = context.input(1).as_int64(0);
  TENON_ASSIGN(const Shape shape, one_hot_shape(op, shape_of(indices), depth, context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, indices.rank() + 1, context));
  const int bytes = byte_size(values.type());
  Tensor& y = context.make_output(0, values.type(), extents);
  fill_elements(y.mutable_bytes(), values.bytes(), y.count(), bytes);
  const int64_t inner = count_between(extents, axis + 1, indices.rank() + 1);
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t index = indices.as_int64(i);
    // An index outside [-depth, depth) has no place: its row is all off.
    if (index < -depth || index >= depth) continue;
    if (index < 0) index += depth;
    const int64_t at = (i / inner * depth + index) * inner + i % inner;
    std::memcpy(y.mutable_bytes() + at * bytes, values.bytes() + bytes, static_cast<size_t>(bytes));
  }
  return {};
}

}  // namespace tenon
