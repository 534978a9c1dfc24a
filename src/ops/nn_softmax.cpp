#include <cmath>
#include <limits>

#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Number of the group of elements that are normalized together, for every element.
std::vector<int64_t> groups_of(const Extents& extents, const std::vector<int>& axes) {
  Extents kept = extents;
  for (const int axis : axes) kept[axis] = 1;
  Strides strides = row_major_strides(kept);
  for (const int axis : axes) strides[axis] = 0;
  std::vector<int64_t> groups(static_cast<size_t>(element_count(extents)));
  Extents position(extents.size(), 0);
  for (int64_t& group : groups) {
    group = 0;
    for (size_t i = 0; i < position.size(); ++i) group += position[i] * strides[i];
    advance(position, extents);
  }
  return groups;
}

/// Sums are f64: one f32 after the other, those of 70,000 numbers are off by 6e-5.
template <class T>
std::vector<T> softmax(const Values<T>& x, const std::vector<int64_t>& groups, bool log) {
  int64_t count = 0;
  for (const int64_t group : groups) count = std::max(count, group + 1);
  std::vector<T> top(count, -std::numeric_limits<T>::infinity());
  std::vector<double> sum(count, 0);
  std::vector<T> y(groups.size());
  for (size_t i = 0; i < y.size(); ++i) top[groups[i]] = std::max(top[groups[i]], x[i]);
  for (size_t i = 0; i < y.size(); ++i) {
    const T shifted = x[i] - top[groups[i]];
    const T power = std::exp(shifted);
    y[i] = log ? shifted : power;
    sum[groups[i]] += static_cast<double>(power);
  }
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<T>(log ? y[i] - std::log(sum[groups[i]]) : y[i] / sum[groups[i]]);
  return y;
}

/// The same of rows that lie one behind the other.
template <class T> std::vector<T> softmax_of_rows(const Values<T>& x, int64_t length, bool log) {
  std::vector<T> result(static_cast<size_t>(x.size()));
  for (int64_t begin = 0; begin < x.size(); begin += length) {
    const T* const from = x.data() + begin;
    T* const y = result.data() + begin;
    T top = -std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < length; ++i) top = std::max(top, from[i]);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const T shifted = from[i] - top;
      const T power = std::exp(shifted);
      y[i] = log ? shifted : power;
      sum += static_cast<double>(power);
    }
    for (int64_t i = 0; i < length; ++i)
      y[i] = static_cast<T>(log ? y[i] - std::log(sum) : y[i] / sum);
  }
  return result;
}

/// Without axes the last one.
Result<std::vector<int>> softmax_axes(const Softmax& op, int rank, const Fail& fail) {
  if (rank == 0) return std::vector<int>();
  return resolve_axes(op.axes.empty() ? std::vector<int64_t>{-1} : op.axes, rank, fail);
}

}  // namespace

Status infer(const Softmax& op, InferContext& context) {
  TENON_ASSIGN(const auto axes, softmax_axes(op, context.rank(0), context));
  static_cast<void>(axes);
  if (!is_real(context.input(0).type)) return context.fail("x must have a real type");
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const Softmax& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const auto axes, softmax_axes(op, x.rank(), context));
  const bool of_rows = axes == std::vector<int>{x.rank() - 1};
  return context.finish(with_real(x.type(), [&](auto real) {
    using T = decltype(real);
    const Values<T> values(x);
    return tensor_of_values(x.type(), x.extents(),
                            of_rows ? softmax_of_rows(values, x.extents().back(), op.log)
                                    : softmax(values, groups_of(x.extents(), axes), op.log));
  }));
}

Status infer(const Hardmax& op, InferContext& context) {
  TENON_ASSIGN(const int64_t axis, context.axis(op.axis, context.rank(0)));
  static_cast<void>(axis);
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const Hardmax& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), context));
  const int64_t length = x.extents()[axis];
  const int64_t inner = count_between(x.extents(), axis + 1, x.rank());
  const int64_t outer = count_between(x.extents(), 0, axis);
  const Values<double> values(x);
  std::vector<double> y(static_cast<size_t>(x.count()), 0.0);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner && length > 0; ++i) {
      const int64_t first = o * length * inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < length; ++k)
        if (values[first + k * inner] > values[first + best * inner]) best = k;
      y[first + best * inner] = 1;
    }
  return context.finish(tensor_of_values(x.type(), x.extents(), y));
}

}  // namespace tenon
