#include <cstring>

#include "ops/extent_rules.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

Status place_all(std::vector<int64_t>& indices, int64_t extent, const Fail& fail) {
  for (int64_t& index : indices) {
    TENON_ASSIGN(index, place_of(index, extent, fail));
  }
  return {};
}

Result<Shape> gathered(const Gather& op, const Shape& x, const Shape& indices, const Fail& fail) {
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, static_cast<int>(x.size()), fail));
  Shape shape(x.begin(), x.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), x.begin() + axis + 1, x.end());
  return shape;
}

Result<Shape> gathered_nd(const GatherNd& op, const Shape& x, const Shape& indices,
                          const Fail& fail) {
  if (indices.empty() || x.empty()) return fail("x and the indices need a rank of at least 1");
  const int64_t batch = op.batch_dims;
  if (batch < 0 || batch >= static_cast<int64_t>(std::min(x.size(), indices.size())))
    return fail("batch_dims {} is not below the ranks of x and indices", batch);
  if (!indices.back().is_constant())
    return fail("the length of the index tuples (last axis of the indices) must be fixed");
  const int64_t tuple = indices.back().constant();
  if (tuple < 1 || tuple + batch > static_cast<int64_t>(x.size()))
    return fail("tuples of {} indices do not fit rank {}", tuple, x.size());
  for (int64_t i = 0; i < batch; ++i) TENON_TRY(expect_equal(x[i], indices[i], "batch axis", fail));
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + batch + tuple, x.end());
  return shape;
}

Status check_elements_shapes(const Shape& x, const Shape& indices, int axis, const Fail& fail) {
  TENON_TRY(expect_rank(indices, static_cast<int>(x.size()), "the indices", fail));
  for (size_t i = 0; i < x.size(); ++i) {
    if (static_cast<int>(i) != axis && surely_more(indices[i], x[i]))
      return fail("axis {} of the indices has {} elements, x has {}", i, indices[i].constant(),
                  x[i].constant());
  }
  return {};
}

}  // namespace

Status infer(const Gather& op, InferContext& context) {
  TENON_TRY(expect_integers(context, 1, "the indices"));
  TENON_ASSIGN(Shape shape, gathered(op, context.shape(0), context.shape(1), context));
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, 1);
  return {};
}

Status evaluate(const Gather& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Extents& along = x.extents();
  TENON_ASSIGN(auto indices, integers_of(context, 1));
  TENON_ASSIGN(const Shape shape, gathered(op, shape_of(x), shape_of(context.input(1)), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), context));
  TENON_TRY(place_all(indices, along[axis], context));
  Tensor& y = context.make_output(0, x.type(), extents);
  if (y.count() == 0) return {};
  const int64_t outer = count_between(along, 0, axis);
  const int64_t run = count_between(along, axis + 1, x.rank()) * byte_size(x.type());
  std::byte* to = y.mutable_bytes();
  for (int64_t i = 0; i < outer; ++i)
    for (const int64_t index : indices) {
      std::memcpy(to, x.bytes() + (i * along[axis] + index) * run, static_cast<size_t>(run));
      to += run;
    }
  return {};
}

Status infer(const GatherElements& op, InferContext& context) {
  TENON_TRY(expect_integers(context, 1, "the indices"));
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, context.rank(0), context));
  TENON_TRY(check_elements_shapes(context.shape(0), context.shape(1), axis, context));
  context.set_output(0, context.input(0).type, context.shape(1));
  move_elements(context, 1);
  return {};
}

Status evaluate(const GatherElements& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Extents& extents = context.input(1).extents();
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), context));
  TENON_TRY(check_elements_shapes(shape_of(x), to_shape(extents), axis, context));
  TENON_ASSIGN(auto indices, integers_of(context, 1));
  TENON_TRY(place_all(indices, x.extents()[axis], context));
  const int bytes = byte_size(x.type());
  const Strides strides = row_major_strides(x.extents());
  std::byte* to = context.make_output(0, x.type(), extents).mutable_bytes();
  Extents position(extents.size(), 0);
  for (const int64_t index : indices) {
    int64_t offset = index * strides[axis];
    for (int i = 0; i < x.rank(); ++i)
      if (i != axis) offset += position[i] * strides[i];
    std::memcpy(to, x.bytes() + offset * bytes, static_cast<size_t>(bytes));
    to += bytes;
    advance(position, extents);
  }
  return {};
}

Status infer(const GatherNd& op, InferContext& context) {
  TENON_TRY(expect_integers(context, 1, "the indices"));
  TENON_ASSIGN(Shape shape, gathered_nd(op, context.shape(0), context.shape(1), context));
  context.set_output(0, context.input(0).type, std::move(shape));
  move_elements(context, 1);
  return {};
}

Status evaluate(const GatherNd& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& index_tensor = context.input(1);
  TENON_ASSIGN(const auto indices, integers_of(context, 1));
  TENON_ASSIGN(const Shape shape, gathered_nd(op, shape_of(x), shape_of(index_tensor), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  Tensor& y = context.make_output(0, x.type(), extents);
  if (y.count() == 0) return {};
  const int64_t tuple = index_tensor.extents().back();
  const int batch_axes = static_cast<int>(op.batch_dims);
  const int first_kept = batch_axes + static_cast<int>(tuple);
  const int64_t batches = count_between(x.extents(), 0, batch_axes);
  const int64_t per_batch = index_tensor.count() / tuple / batches;
  const int64_t run = count_between(x.extents(), first_kept, x.rank()) * byte_size(x.type());
  std::byte* to = y.mutable_bytes();
  for (int64_t i = 0; i < batches * per_batch; ++i) {
    int64_t offset = i / per_batch;
    for (int64_t t = 0; t < tuple; ++t) {
      const int64_t extent = x.extents()[batch_axes + t];
      TENON_ASSIGN(const int64_t place, place_of(indices[i * tuple + t], extent, context));
      offset = offset * extent + place;
    }
    std::memcpy(to, x.bytes() + offset * run, static_cast<size_t>(run));
    to += run;
  }
  return {};
}

}  // namespace tenon
