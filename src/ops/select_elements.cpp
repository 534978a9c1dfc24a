// ArgReduce and TopK.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/axes.h"
#include "ops/math.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// f(T{}) with a type that orders the elements exactly: double, int64 or uint64.
template <class F> void with_ordered(DataType type, F f) {
  if (is_real(type))
    f(double{});
  else if (type == DataType::kUInt64)
    f(uint64_t{});
  else
    f(int64_t{});
}

/// NaN counts as larger than every number.
template <class T> bool is_less(T a, T b) {
  if (a != a) return false;
  if (b != b) return true;
  return a < b;
}

}  // namespace

Status infer(const ArgReduce& op, InferContext& context) {
  TENON_ASSIGN(const int64_t axis, context.axis(op.axis, context.rank(0)));
  Shape shape = context.shape(0);
  const auto empty =
      std::ranges::count(shape, Dim(0));  // Without results there is nothing to find.
  if (shape[axis] == Dim(0) && empty == 1) return context.fail("the axis has no elements");
  if (op.keep_dims)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + axis);
  return context.finish(DataType::kInt64, std::move(shape));
}

Status evaluate(const ArgReduce& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const int64_t rank = x.rank();
  if (op.axis < -rank || op.axis >= rank) return context.fail("the axis is out of range");
  const int64_t axis = op.axis < 0 ? op.axis + rank : op.axis;
  const AxisView view = view_along(x.extents(), axis);
  if (view.extent == 0 && view.outer * view.inner > 0)
    return context.fail("the axis has no elements");
  Extents extents = x.extents();
  if (op.keep_dims)
    extents[axis] = 1;
  else
    extents.erase(extents.begin() + axis);
  Tensor& out = context.make_output(0, DataType::kInt64, std::move(extents));
  auto indices = out.mutable_values<int64_t>();
  with_ordered(x.type(), [&](auto zero) {
    const Values<decltype(zero)> values(x);
    for (int64_t place = 0; place < view.outer * view.inner; ++place) {
      const int64_t base = place / view.inner * view.extent * view.inner + place % view.inner;
      int64_t best = 0;
      for (int64_t i = 1; i < view.extent; ++i) {
        const auto candidate = values[base + i * view.inner];
        const auto champion = values[base + best * view.inner];
        const bool better =
            op.largest ? is_less(champion, candidate) : is_less(candidate, champion);
        const bool worse = op.largest ? is_less(candidate, champion) : is_less(champion, candidate);
        if (better || (op.last_index && !worse)) best = i;
      }
      indices[place] = best;
    }
  });
  return {};
}

Status infer(const TopK& op, InferContext& context) {
  TENON_ASSIGN(const int64_t axis, context.axis(op.axis, context.rank(0)));
  Shape shape = context.shape(0);
  const auto k = context.elements(1);
  if (k && k->size() != 1) return context.fail("k must be one number");
  if (k && k->front().is_constant() && k->front().constant() < 0)
    return context.fail(fmt::format("k = {} is negative", k->front().constant()));
  if (k && k->front().is_constant() && shape[axis].is_constant() &&
      k->front().constant() > shape[axis].constant())
    return context.fail(fmt::format("k = {} exceeds the axis' extent {}", k->front().constant(),
                                    shape[axis].constant()));
  shape[axis] = k ? k->front() : context.data_dependent(shape[axis]);
  if (op.softmax && !is_real(context.input(0).type)) return context.fail("softmax of integers");
  context.set_output(0, context.input(0).type, shape);
  context.set_output(1, DataType::kInt64, std::move(shape));
  return {};
}

namespace {

/// Fills `order` with the indices of the k first elements of a line, in order.
template <class T>
void choose(const Values<T>& values, int64_t base, int64_t stride, int64_t k, bool largest,
            std::vector<int64_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    const T x = values[base + a * stride], y = values[base + b * stride];
    if (largest ? is_less(y, x) : is_less(x, y)) return true;
    if (largest ? is_less(x, y) : is_less(y, x)) return false;
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
}

/// Of a line's `extent` elements, `stride` apart.
double log_sum_exp(const Tensor& x, int64_t base, int64_t stride, int64_t extent) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < extent; ++i) top = std::max(top, x.as_double(base + i * stride));
  if (std::isinf(top)) return top;
  for (int64_t i = 0; i < extent; ++i) sum += std::exp(x.as_double(base + i * stride) - top);
  return top + std::log(sum);
}

}  // namespace

Status evaluate(const TopK& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const int64_t rank = x.rank();
  if (op.axis < -rank || op.axis >= rank) return context.fail("the axis is out of range");
  const int64_t axis = op.axis < 0 ? op.axis + rank : op.axis;
  const AxisView view = view_along(x.extents(), axis);
  if (context.input(1).count() != 1) return context.fail("k must be one number");
  const int64_t k = context.input(1).as_int64(0);
  if (k < 0 || k > view.extent)
    return context.fail(fmt::format("k = {} is outside [0, {}]", k, view.extent));
  Extents extents = x.extents();
  extents[axis] = k;
  Tensor& values = context.make_output(0, x.type(), extents);
  Tensor& indices = context.make_output(1, DataType::kInt64, extents);
  const int bytes = byte_size(x.type());
  std::vector<int64_t> order(view.extent);
  with_ordered(x.type(), [&](auto zero) {
    const Values<decltype(zero)> from(x);
    for (int64_t place = 0; place < view.outer * view.inner; ++place) {
      const int64_t block = place / view.inner, column = place % view.inner;
      const int64_t base = block * view.extent * view.inner + column;
      choose(from, base, view.inner, k, op.largest, order);
      for (int64_t i = 0; i < k; ++i) {
        const int64_t to = (block * k + i) * view.inner + column;
        indices.mutable_values<int64_t>()[to] = order[i];
        std::copy_n(x.bytes() + (base + order[i] * view.inner) * bytes, bytes,
                    values.mutable_bytes() + to * bytes);
      }
      if (!op.softmax) continue;
      const double all = log_sum_exp(x, base, view.inner, view.extent);
      for (int64_t i = 0; i < k; ++i) {
        const int64_t to = (block * k + i) * view.inner + column;
        const double log = values.as_double(to) - all;
        values.set_from_double(to, op.log ? log : std::exp(log));
      }
    }
  });
  return {};
}

}  // namespace tenon
