// Cumulative and Det.

#include <algorithm>
#include <cmath>

#include "ops/axes.h"
#include "ops/math.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {

Status infer(const Cumulative&, InferContext& context) {
  if (context.input(0).type == DataType::kBool) return context.fail("a numeric input is expected");
  if (const auto axis = context.integers(1)) {
    if (axis->size() != 1) return context.fail("the axis must be one number");
    TENON_TRY(context.axis((*axis)[0], context.rank(0)));
  }
  return context.finish(context.input(0).type, context.shape(0));
}

namespace {

/// T is double or uint64, which wraps.
template <class T>
void accumulate(const Cumulative& op, const Tensor& x, const AxisView& view, Tensor& out) {
  const Values<T> values(x);
  std::vector<T> result(out.count());
  for (int64_t place = 0; place < view.outer * view.inner; ++place) {
    const int64_t base = place / view.inner * view.extent * view.inner + place % view.inner;
    T total = op.product ? T(1) : T(0);
    for (int64_t i = 0; i < view.extent; ++i) {
      const int64_t at = base + (op.reverse ? view.extent - 1 - i : i) * view.inner;
      if (op.exclusive) result[at] = total;
      total = op.product ? total * values[at] : total + values[at];
      if (!op.exclusive) result[at] = total;
    }
  }
  store_values(std::span<const T>(result), out);
}

}  // namespace

Status evaluate(const Cumulative& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const int64_t rank = x.rank();
  if (context.input(1).count() != 1) return context.fail("the axis must be one number");
  int64_t axis = context.input(1).as_int64(0);
  if (axis < -rank || axis >= rank) return context.fail("the axis is out of range");
  if (axis < 0) axis += rank;
  const AxisView view = view_along(x.extents(), axis);
  Tensor& out = context.make_output(0, x.type(), x.extents());
  if (is_real(x.type()))
    accumulate<double>(op, x, view, out);
  else
    accumulate<uint64_t>(op, x, view, out);
  return {};
}

Status infer(const Det&, InferContext& context) {
  const Shape& shape = context.shape(0);
  if (!is_real(context.input(0).type) || shape.size() < 2)
    return context.fail("matrices of a real type are expected");
  const Dim &rows = shape[shape.size() - 2], &columns = shape.back();
  if (rows.is_constant() && columns.is_constant() && rows != columns)
    return context.fail("square matrices are expected");
  return context.finish(context.input(0).type, Shape(shape.begin(), shape.end() - 2));
}

namespace {

/// By elimination with partial pivoting; destroys the matrix.
double determinant(std::vector<double>& a, int64_t n) {
  double result = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row)
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    const double head = a[pivot * n + column];
    if (head == 0) return 0;
    if (pivot != column) {
      std::swap_ranges(&a[pivot * n], &a[pivot * n] + n, &a[column * n]);
      result = -result;
    }
    result *= head;
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / head;
      for (int64_t j = column; j < n; ++j) a[row * n + j] -= factor * a[column * n + j];
    }
  }
  return result;
}

}  // namespace

Status evaluate(const Det&, EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2 || x.extents()[x.rank() - 1] != x.extents()[x.rank() - 2])
    return context.fail("square matrices are expected");
  const int64_t n = x.extents().back();
  Tensor& out = context.make_output(0, x.type(), {x.extents().begin(), x.extents().end() - 2});
  const Values<double> values(x);
  std::vector<double> matrix(n * n);
  for (int64_t i = 0; i < out.count(); ++i) {
    std::copy_n(values.data() + i * n * n, n * n, matrix.begin());
    out.set_from_double(i, determinant(matrix, n));
  }
  return {};
}

}  // namespace tenon
