// Operators that look at or change the shape only.
#include <algorithm>

#include "ops/movement.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

std::pair<int64_t, int64_t> shape_bounds(const ShapeOf& op, int64_t rank) {
  const auto clamp = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(op.start);
  return {start, std::max(start, clamp(op.end))};
}

bool is_minus_one(const Dim& dim) {
  return dim.is_constant() && dim.constant() == -1;
}
bool is_zero(const Dim& dim) {
  return dim.is_constant() && dim.constant() == 0;
}

/// The extent that -1 stands for. Extents kept by a 0 cancel, so that they may be empty.
Result<Dim> inferred_extent(const Shape& x, const std::vector<Dim>& target, bool allow_zero,
                            const Fail& fail) {
  Dim total = 1, known = 1;
  for (size_t i = 0; i < std::max(x.size(), target.size()); ++i) {
    const bool kept = i < target.size() && is_zero(target[i]) && !allow_zero;
    if (kept) continue;
    if (i < x.size()) total = total * x[i];
    if (i < target.size() && !is_minus_one(target[i])) known = known * target[i];
  }
  if (is_zero(known)) return fail("-1 cannot be inferred beside an extent of 0; give the extent");
  if (total.is_constant() && known.is_constant() && total.constant() % known.constant() != 0)
    return fail("{} elements cannot be divided by {} to infer -1", total.constant(),
                known.constant());
  return floor_div(total, known);
}

Result<Shape> reshaped(const Reshape& op, const Shape& x, const std::vector<Dim>& target,
                       const Fail& fail) {
  if (std::count_if(target.begin(), target.end(), is_minus_one) > 1)
    return fail("the shape {} has more than one -1", to_string(target));
  Shape shape;
  for (size_t i = 0; i < target.size(); ++i) {
    if (is_minus_one(target[i])) {
      TENON_ASSIGN(Dim extent, inferred_extent(x, target, op.allow_zero, fail));
      shape.push_back(std::move(extent));
    } else if (is_zero(target[i]) && !op.allow_zero) {
      if (i >= x.size()) return fail("the shape keeps extent {} by a 0, which x lacks", i);
      shape.push_back(x[i]);
    } else {
      if (target[i].is_constant() && target[i].constant() < 0)
        return fail("the shape {} has a negative extent", to_string(target));
      shape.push_back(target[i]);
    }
  }
  const Dim elements = product(x), wanted = product(shape);  // A plan compares these itself.
  if (elements.is_constant() && wanted.is_constant() && !(elements == wanted))
    return fail("x has {} elements, the shape {} has {}", product(x).constant(), to_string(shape),
                product(shape).constant());
  return shape;
}

Result<Shape> flattened(const Flatten& op, const Shape& x, const Fail& fail) {
  const int rank = static_cast<int>(x.size());
  if (op.axis < -rank || op.axis > rank)
    return fail("axis {} is outside [{}, {}]", op.axis, -rank, rank);
  const auto at = x.begin() + (op.axis < 0 ? op.axis + rank : op.axis);
  return Shape{product(Shape(x.begin(), at)), product(Shape(at, x.end()))};
}

Result<Shape> squeezed(const Shape& x, const std::optional<std::vector<int64_t>>& axes,
                       const Fail& fail) {
  std::vector<bool> drop(x.size(), false);
  if (axes) {
    TENON_ASSIGN(const auto resolved, resolve_axes(*axes, static_cast<int>(x.size()), fail));
    for (const int axis : resolved) {
      if (surely_differ(x[axis], 1))
        return fail("axis {} has extent {}, only axes of extent 1 can be dropped", axis,
                    x[axis].constant());
      drop[axis] = true;
    }
  }
  Shape shape;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool dropped = axes ? drop[i] : x[i] == Dim(1);
    if (!dropped) shape.push_back(x[i]);
  }
  return shape;
}

Result<Shape> unsqueezed(const Shape& x, const std::vector<int64_t>& axes, const Fail& fail) {
  const int rank = static_cast<int>(x.size() + axes.size());
  TENON_ASSIGN(const auto resolved, resolve_axes(axes, rank, fail));
  Shape shape;
  size_t next = 0;
  for (int i = 0; i < rank; ++i) {
    const bool added = std::find(resolved.begin(), resolved.end(), i) != resolved.end();
    shape.push_back(added ? Dim(1) : x[next++]);
  }
  return shape;
}

Status put_reshaped(EvalContext& context, Result<Shape> shape) {
  if (!shape.ok()) return std::move(shape).error();
  TENON_ASSIGN(Extents extents, concrete(*shape, context));
  const Tensor& x = context.input(0);
  if (element_count(extents) != x.count())
    return context.fail(
        fmt::format("{} elements cannot take the shape {}", x.count(), to_string(*shape)));
  return context.finish(x.reshaped(std::move(extents)));
}

Status set_moved(InferContext& context, Result<Shape> shape) {
  if (!shape.ok()) return std::move(shape).error();
  context.set_output(0, context.input(0).type, std::move(*shape));
  move_elements(context, 1);
  return {};
}

}  // namespace

Status infer(const ShapeOf& op, InferContext& context) {
  const Shape& x = context.shape(0);
  const auto [start, end] = shape_bounds(op, context.rank(0));
  const std::vector<Dim> part(x.begin() + start, x.begin() + end);
  context.set_output(0, DataType::kInt64, {end - start});
  context.set_elements(0, part);
  return {};
}

Status evaluate(const ShapeOf& op, EvalContext& context) {
  const Extents& x = context.input(0).extents();
  const auto [start, end] = shape_bounds(op, static_cast<int64_t>(x.size()));
  const std::vector<int64_t> part(x.begin() + start, x.begin() + end);
  return context.finish(Tensor::vector_i64(part));
}

Status infer(const SizeOf&, InferContext& context) {
  const Dim count = product(context.shape(0));
  context.set_output(0, DataType::kInt64, {});
  context.set_elements(0, {count});
  return {};
}

Status evaluate(const SizeOf&, EvalContext& context) {
  return context.finish(Tensor::scalar_i64(context.input(0).count()));
}

/// A shape whose numbers are unknown still fixes the rank.
static Status infer_unknown_reshape(InferContext& context) {
  const Shape& length = context.shape(1);
  if (length.size() != 1 || !length[0].is_constant())
    return context.fail(
        "the rank of the result is data-dependent; give the shape operand a fixed length");
  if (length[0].constant() > 64) return context.fail("the shape operand is too long");
  const Dim total = product(context.shape(0));
  Shape shape;
  for (int64_t i = 0; i < length[0].constant(); ++i) shape.push_back(context.data_dependent(total));
  return context.finish(context.input(0).type, std::move(shape));
}

Status infer(const Reshape& op, InferContext& context) {
  TENON_TRY(expect_rank(context.shape(1), 1, "the shape operand", context));
  const auto target = context.elements(1);
  if (!target) return infer_unknown_reshape(context);
  return set_moved(context, reshaped(op, context.shape(0), *target, context));
}

Status evaluate(const Reshape& op, EvalContext& context) {
  TENON_ASSIGN(const auto target, integers_of(context, 1));
  return put_reshaped(context, reshaped(op, shape_of(context.input(0)), to_shape(target), context));
}

Status infer(const Flatten& op, InferContext& context) {
  return set_moved(context, flattened(op, context.shape(0), context));
}
Status evaluate(const Flatten& op, EvalContext& context) {
  return put_reshaped(context, flattened(op, shape_of(context.input(0)), context));
}

Status infer(const Squeeze&, InferContext& context) {
  const auto axes = context.integers(1);
  if (context.has_input(1) && !axes)
    return context.fail("the axes must be known while building; make them a constant");
  const Shape& x = context.shape(0);
  if (!axes && !is_constant(x) &&
      std::any_of(x.begin(), x.end(), [](const Dim& d) { return !d.is_constant(); }) &&
      std::none_of(x.begin(), x.end(), [](const Dim& d) { return d == Dim(1); }))
    return context.fail("the rank of the result is data-dependent; give the axes to drop");
  return set_moved(context, squeezed(x, axes, context));
}
Status evaluate(const Squeeze&, EvalContext& context) {
  std::optional<std::vector<int64_t>> axes;
  if (context.has_input(1)) {
    TENON_ASSIGN(axes, integers_of(context, 1));
  }
  return put_reshaped(context, squeezed(shape_of(context.input(0)), axes, context));
}

Status infer(const Unsqueeze&, InferContext& context) {
  const auto axes = context.integers(1);
  if (!axes) return context.fail("the axes must be known while building; make them a constant");
  return set_moved(context, unsqueezed(context.shape(0), *axes, context));
}
Status evaluate(const Unsqueeze&, EvalContext& context) {
  TENON_ASSIGN(const auto axes, integers_of(context, 1));
  return put_reshaped(context, unsqueezed(shape_of(context.input(0)), axes, context));
}

}  // namespace tenon
