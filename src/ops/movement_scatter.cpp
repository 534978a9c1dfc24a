#include <cstring>
#include <type_traits>

#include "ir/element.h"
#include "ops/extent_rules.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

template <class T> T wrapped(T a, T b, bool multiply) {
  if constexpr (std::is_same_v<T, bool>) {
    return multiply ? a && b : a || b;
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(multiply ? x * y : x + y);
  } else {
    return multiply ? a * b : a + b;
  }
}

template <class T> T reduced(T a, T b, ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::kAdd:
    case ScatterReduction::kMul: return wrapped(a, b, reduction == ScatterReduction::kMul);
    case ScatterReduction::kMax: return a > b || a != a ? a : b;
    case ScatterReduction::kMin: return a < b || a != a ? a : b;
    default: return b;
  }
}

/// Puts `count` elements of updates at y[at...].
void put(Tensor& y, int64_t at, const Tensor& updates, int64_t from, int64_t count,
         ScatterReduction reduction) {
  const int bytes = byte_size(y.type());
  if (reduction == ScatterReduction::kNone) {
    std::memcpy(y.mutable_bytes() + at * bytes, updates.bytes() + from * bytes,
                static_cast<size_t>(count * bytes));
    return;
  }
  with_element(y.type(), [&](auto element) {
    using E = decltype(element);
    auto* to = reinterpret_cast<typename E::Storage*>(y.mutable_bytes()) + at;
    const auto* values = reinterpret_cast<const typename E::Storage*>(updates.bytes()) + from;
    for (int64_t i = 0; i < count; ++i)
      to[i] = E::store(reduced(E::load(to[i]), E::load(values[i]), reduction));
  });
}

/// A copy of x to change.
Tensor& copied(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.make_output(0, x.type(), x.extents());
  if (x.byte_count() > 0)
    std::memcpy(y.mutable_bytes(), x.bytes(), static_cast<size_t>(x.byte_count()));
  return y;
}

Status check_elements(const Shape& x, const Shape& indices, const Shape& updates, int axis,
                      const Fail& fail) {
  TENON_TRY(expect_rank(indices, static_cast<int>(x.size()), "the indices", fail));
  TENON_TRY(expect_rank(updates, static_cast<int>(x.size()), "the updates", fail));
  for (size_t i = 0; i < x.size(); ++i) {
    TENON_TRY(expect_equal(indices[i], updates[i], "extents of indices and updates", fail));
    if (static_cast<int>(i) != axis && surely_more(indices[i], x[i]))
      return fail("axis {} of the indices has {} elements, x has {}", i, indices[i].constant(),
                  x[i].constant());
  }
  return {};
}

Status check_nd(const Shape& x, const Shape& indices, const Shape& updates, const Fail& fail) {
  if (indices.empty() || !indices.back().is_constant())
    return fail("the length of the index tuples (last axis of the indices) must be fixed");
  const int64_t tuple = indices.back().constant();
  if (tuple < 0 || tuple > static_cast<int64_t>(x.size()))
    return fail("tuples of {} indices do not fit rank {}", tuple, x.size());
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), x.begin() + tuple, x.end());
  TENON_TRY(expect_rank(updates, static_cast<int>(expected.size()), "the updates", fail));
  for (size_t i = 0; i < expected.size(); ++i)
    TENON_TRY(expect_equal(updates[i], expected[i], "extents of the updates", fail));
  return {};
}

Status check_update_type(DataType x, DataType updates, const Fail& fail) {
  if (x == updates) return {};
  return fail("the updates are {}, x is {}", name_of(updates), name_of(x));
}

Result<int> cache_axis(const TensorScatter& op, const Shape& cache, const Shape& update,
                       const Fail& fail) {
  const int rank = static_cast<int>(cache.size());
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, rank, fail));
  if (axis == 0) return fail("axis 0 is the batch and cannot be the cache's");
  TENON_TRY(expect_rank(update, rank, "the update", fail));
  for (int i = 0; i < rank; ++i)
    if (i != axis) TENON_TRY(expect_equal(cache[i], update[i], "extents of the update", fail));
  return axis;
}

}  // namespace

Status infer(const ScatterElements& op, InferContext& context) {
  TENON_TRY(expect_integers(context, 1, "the indices"));
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, context.rank(0), context));
  TENON_TRY(check_elements(context.shape(0), context.shape(1), context.shape(2), axis, context));
  TENON_TRY(check_update_type(context.input(0).type, context.input(2).type, context));
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const ScatterElements& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& updates = context.input(2);
  const Extents& extents = context.input(1).extents();
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), context));
  TENON_TRY(check_elements(shape_of(x), to_shape(extents), shape_of(updates), axis, context));
  TENON_TRY(check_update_type(x.type(), updates.type(), context));
  TENON_ASSIGN(const auto indices, integers_of(context, 1));
  Tensor& y = copied(context);
  const Strides strides = row_major_strides(x.extents());
  Extents position(extents.size(), 0);
  for (size_t n = 0; n < indices.size(); ++n) {
    TENON_ASSIGN(const int64_t place, place_of(indices[n], x.extents()[axis], context));
    int64_t offset = place * strides[axis];
    for (int i = 0; i < x.rank(); ++i)
      if (i != axis) offset += position[i] * strides[i];
    put(y, offset, updates, static_cast<int64_t>(n), 1, op.reduction);
    advance(position, extents);
  }
  return {};
}

Status infer(const ScatterNd&, InferContext& context) {
  TENON_TRY(expect_integers(context, 1, "the indices"));
  TENON_TRY(check_nd(context.shape(0), context.shape(1), context.shape(2), context));
  TENON_TRY(check_update_type(context.input(0).type, context.input(2).type, context));
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const ScatterNd& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& index_tensor = context.input(1);
  const Tensor& updates = context.input(2);
  TENON_TRY(check_nd(shape_of(x), shape_of(index_tensor), shape_of(updates), context));
  TENON_TRY(check_update_type(x.type(), updates.type(), context));
  TENON_ASSIGN(const auto indices, integers_of(context, 1));
  Tensor& y = copied(context);
  const int64_t tuple = index_tensor.extents().back();
  const Extents& outer = index_tensor.extents();
  const int64_t tuples = count_between(outer, 0, static_cast<int>(outer.size()) - 1);
  const int64_t run = count_between(x.extents(), static_cast<int>(tuple), x.rank());
  if (run == 0) return {};
  for (int64_t n = 0; n < tuples; ++n) {
    int64_t offset = 0;
    for (int64_t t = 0; t < tuple; ++t) {
      TENON_ASSIGN(const int64_t place, place_of(indices[n * tuple + t], x.extents()[t], context));
      offset = offset * x.extents()[t] + place;
    }
    put(y, offset * run, updates, n * run, run, op.reduction);
  }
  return {};
}

Status infer(const TensorScatter& op, InferContext& context) {
  TENON_ASSIGN(const int axis, cache_axis(op, context.shape(0), context.shape(1), context));
  static_cast<void>(axis);
  TENON_TRY(check_update_type(context.input(0).type, context.input(1).type, context));
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const TensorScatter& op, EvalContext& context) {
  const Tensor& update = context.input(1);
  const Extents& cache = context.input(0).extents();
  TENON_ASSIGN(const int axis, cache_axis(op, to_shape(cache), shape_of(update), context));
  TENON_TRY(check_update_type(context.input(0).type(), update.type(), context));
  std::vector<int64_t> starts(cache[0], 0);
  if (context.has_input(2)) {
    TENON_ASSIGN(starts, integers_of(context, 2));
  }
  if (static_cast<int64_t>(starts.size()) != cache[0])
    return context.fail(fmt::format("{} write indices for a batch of {}", starts.size(), cache[0]));
  const int64_t steps = update.extents()[axis], length = cache[axis];
  const int64_t middle = count_between(cache, 1, axis);
  const int64_t run = count_between(cache, axis + 1, static_cast<int>(cache.size()));
  Tensor& y = copied(context);
  for (int64_t row = 0; row < cache[0] * middle; ++row) {
    const int64_t start = starts[row / middle];
    for (int64_t s = 0; s < steps; ++s) {
      if (start < 0 || (!op.circular && start > length - steps) || length == 0)
        return context.fail(fmt::format("write index {} with {} steps is outside a cache of {}",
                                        start, steps, length));
      const int64_t at = (start % length + s) % length;
      put(y, (row * length + at) * run, update, (row * steps + s) * run, run,
          ScatterReduction::kNone);
    }
  }
  return {};
}

}  // namespace tenon
