// Permuting, repeating, joining and cutting.
#include <algorithm>
#include <numeric>

#include "ops/extent_rules.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

Result<std::vector<int>> permutation_of(const Transpose& op, int rank, const Fail& fail) {
  std::vector<int> axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (op.permutation.empty()) return axes;
  if (static_cast<int>(op.permutation.size()) != rank)
    return fail("a permutation of {} axes does not fit rank {}", op.permutation.size(), rank);
  return resolve_axes(op.permutation, rank, fail);
}

/// Strides of `from` aligned to the right of `extents`, 0 where it is repeated.
Strides broadcast_strides(const Extents& from, const Extents& extents) {
  const Strides dense = row_major_strides(from);
  Strides strides(extents.size(), 0);
  const size_t shift = extents.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) strides[i + shift] = dense[i];
  return strides;
}

Result<Shape> tiled(const Shape& x, const std::vector<Dim>& repeats, const Fail& fail) {
  if (repeats.size() != x.size())
    return fail("{} repeats do not fit rank {}", repeats.size(), x.size());
  Shape shape;
  for (size_t i = 0; i < x.size(); ++i) {
    if (repeats[i].is_constant() && repeats[i].constant() < 0)
      return fail("repeat {} is negative", repeats[i].constant());
    shape.push_back(x[i] * repeats[i]);
  }
  return shape;
}

Result<Shape> joined(std::span<const Shape> shapes, int64_t axis, const Fail& fail) {
  Shape shape = shapes[0];
  TENON_ASSIGN(const int along, resolve_axis(axis, static_cast<int>(shape.size()), fail));
  for (size_t i = 1; i < shapes.size(); ++i) {
    if (shapes[i].size() != shape.size())
      return fail("operands 0 and {} differ in rank: {} and {}", i, shape.size(), shapes[i].size());
    for (int a = 0; a < static_cast<int>(shape.size()); ++a) {
      if (a == along) {
        shape[a] = shape[a] + shapes[i][a];
        continue;
      }
      if (surely_differ(shape[a], shapes[i][a]))
        return fail("operands 0 and {} differ in axis {}: {} and {}", i, a, shape[a].constant(),
                    shapes[i][a].constant());
      if (shapes[i][a].is_constant()) shape[a] = shapes[i][a];
    }
  }
  return shape;
}

/// Extents of the parts along the axis.
Result<std::vector<Dim>> part_sizes(const Dim& extent, const std::optional<std::vector<Dim>>& sizes,
                                    int parts, const Fail& fail) {
  if (sizes) {
    if (static_cast<int>(sizes->size()) != parts)
      return fail("{} sizes for {} parts", sizes->size(), parts);
    Dim sum = 0;
    for (const Dim& size : *sizes) {
      if (size.is_constant() && size.constant() < 0)
        return fail("size {} is negative", size.constant());
      sum = sum + size;
    }
    if (surely_differ(sum, extent))
      return fail("the sizes add up to {}, the axis has {}", sum.constant(), extent.constant());
    return *sizes;
  }
  const Dim each = ceil_div(extent, parts);
  std::vector<Dim> equal(parts, each);
  if (each * Dim(parts) == extent) return equal;
  Dim left = extent;
  for (Dim& size : equal) {
    size = extent.is_constant() ? min(each, left) : size;
    left = left - size;
  }
  if (!extent.is_constant()) equal.back() = extent - each * Dim(parts - 1);
  return equal;
}

Result<std::vector<Extents>> concat_extents(const EvalContext& context, int count) {
  std::vector<Extents> all;
  for (int i = 0; i < count; ++i) {
    if (context.input(i).type() != context.input(0).type())
      return context.fail(fmt::format("operands 0 and {} differ in type", i));
    all.push_back(context.input(i).extents());
  }
  return all;
}

}  // namespace

Status infer(const Transpose& op, InferContext& context) {
  TENON_ASSIGN(const auto axes, permutation_of(op, context.rank(0), context));
  Shape shape;
  for (const int axis : axes) shape.push_back(context.shape(0)[axis]);
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, 1);
  return {};
}

Status evaluate(const Transpose& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto axes, permutation_of(op, x.rank(), context));
  const Strides from = row_major_strides(x.extents());
  Extents extents;
  Strides strides;
  for (const int axis : axes) {
    extents.push_back(x.extents()[axis]);
    strides.push_back(from[axis]);
  }
  Tensor& y = context.make_output(0, x.type(), extents);
  strided_copy(y.mutable_bytes(), row_major_strides(extents), x.bytes(), strides, extents,
               byte_size(x.type()));
  return {};
}

static Status infer_unknown_expand(InferContext& context) {
  const Shape& length = context.shape(1);
  if (length.size() != 1 || !length[0].is_constant() || length[0].constant() > 64)
    return context.fail(
        "the rank of the result is data-dependent; give the shape operand a fixed length");
  const auto rank = std::max<size_t>(context.rank(0), static_cast<size_t>(length[0].constant()));
  Shape shape;
  for (size_t i = 0; i < rank; ++i) shape.push_back(context.data_dependent(kUnbounded));
  return context.finish(context.input(0).type, std::move(shape));
}

Status infer(const Expand&, InferContext& context) {
  const auto target = context.elements(1);
  if (!target) return infer_unknown_expand(context);
  TENON_ASSIGN(Shape shape, expanded_shape(context.shape(0), *target, context));
  for (const Dim& extent : shape)
    if (extent.is_constant() && extent.constant() < 0)
      return context.fail(fmt::format("the shape {} has a negative extent", to_string(*target)));
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, 1);
  return {};
}

Status evaluate(const Expand&, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto target, integers_of(context, 1));
  auto shape = broadcast(shape_of(x), to_shape(target));
  if (!shape.ok()) return context.fail(shape.error().message);
  TENON_ASSIGN(const Extents extents, concrete(*shape, context));
  Tensor& y = context.make_output(0, x.type(), extents);
  strided_copy(y.mutable_bytes(), row_major_strides(extents), x.bytes(),
               broadcast_strides(x.extents(), extents), extents, byte_size(x.type()));
  return {};
}

Status infer(const Tile&, InferContext& context) {
  const auto repeats = context.elements(1);
  Shape shape;
  if (repeats) {
    TENON_ASSIGN(shape, tiled(context.shape(0), *repeats, context));
  } else {
    for (int i = 0; i < context.rank(0); ++i) shape.push_back(context.data_dependent(kUnbounded));
  }
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, 1);
  return {};
}

Status evaluate(const Tile&, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto repeats, integers_of(context, 1));
  TENON_ASSIGN(const Shape shape, tiled(shape_of(x), to_shape(repeats), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  Tensor& y = context.make_output(0, x.type(), extents);
  // Seen as [repeat, extent] for every axis, the source repeats along the first of each pair.
  const Strides dense = row_major_strides(x.extents());
  Extents pairs;
  Strides from;
  for (int i = 0; i < x.rank(); ++i) {
    pairs.insert(pairs.end(), {repeats[i], x.extents()[i]});
    from.insert(from.end(), {0, dense[i]});
  }
  strided_copy(y.mutable_bytes(), row_major_strides(pairs), x.bytes(), from, pairs,
               byte_size(x.type()));
  return {};
}

Status infer(const Concat& op, InferContext& context) {
  std::vector<Shape> shapes;
  for (int i = 0; i < context.input_count(); ++i) {
    if (context.input(i).type != context.input(0).type)
      return context.fail(fmt::format("operands 0 and {} differ in type", i));
    shapes.push_back(context.shape(i));
  }
  TENON_ASSIGN(Shape shape, joined(shapes, op.axis, context));
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, context.input_count());
  return {};
}

Status evaluate(const Concat& op, EvalContext& context) {
  int count = 0;
  while (context.has_input(count)) ++count;
  TENON_ASSIGN(const auto all, concat_extents(context, count));
  std::vector<Shape> shapes;
  for (const Extents& extents : all) shapes.push_back(to_shape(extents));
  TENON_ASSIGN(const Shape shape, joined(shapes, op.axis, context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, static_cast<int>(extents.size()), context));
  const int bytes = byte_size(context.input(0).type());
  Tensor& y = context.make_output(0, context.input(0).type(), extents);
  const Strides to = row_major_strides(extents);
  int64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    strided_copy(y.mutable_bytes() + offset * to[axis] * bytes, to, context.input(i).bytes(),
                 row_major_strides(all[i]), all[i], bytes);
    offset += all[i][axis];
  }
  return {};
}

Status infer(const Split& op, InferContext& context) {
  const Shape& x = context.shape(0);
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, context.rank(0), context));
  std::vector<Dim> sizes;
  const auto given = context.elements(1);
  if (context.has_input(1) && !given) {
    for (int i = 0; i < context.output_count(); ++i)
      sizes.push_back(context.data_dependent(x[axis]));
  } else {
    TENON_ASSIGN(sizes, part_sizes(x[axis], given, context.output_count(), context));
  }
  for (int i = 0; i < context.output_count(); ++i) {
    Shape shape = x;
    shape[axis] = sizes[i];
    context.set_output(i, context.input(0).type, std::move(shape));
  }
  move_elements(context, 1);
  return {};
}

Status evaluate(const Split& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), context));
  std::optional<std::vector<Dim>> given;
  if (context.has_input(1)) {
    TENON_ASSIGN(const auto sizes, integers_of(context, 1));
    given = to_shape(sizes);
  }
  TENON_ASSIGN(const auto sizes,
               part_sizes(x.extents()[axis], given, context.output_count(), context));
  const int bytes = byte_size(x.type());
  const Strides from = row_major_strides(x.extents());
  int64_t offset = 0;
  for (int i = 0; i < context.output_count(); ++i) {
    Extents extents = x.extents();
    extents[axis] = sizes[i].constant();
    if (extents[axis] < 0) return context.fail("a part would have a negative extent");
    Tensor& y = context.make_output(i, x.type(), extents);
    strided_copy(y.mutable_bytes(), row_major_strides(extents),
                 x.bytes() + offset * from[axis] * bytes, from, extents, bytes);
    offset += extents[axis];
  }
  return {};
}

}  // namespace tenon
