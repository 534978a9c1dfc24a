#include <algorithm>
#include <cmath>

#include "ops/extent_rules.h"
#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

Status check_channel_vector(const InferContext& context, int index) {
  if (!context.has_input(index)) return {};
  const Shape& shape = context.shape(index);
  const Dim channels = context.shape(0)[1];
  TENON_TRY(expect_rank(shape, 1, fmt::format("input {}", index), context));
  return expect_equal(shape[0], channels, fmt::format("input {} and channels", index), context);
}

bool broadcasts_to(const Shape& shape, const Shape& x, const InferContext& context) {
  const auto joined = joined_shape(x, shape, context);
  return joined.ok() && std::ranges::equal(*joined, x, [](const Dim& a, const Dim& b) {
           return !surely_differ(a, b);
         });
}

Status check_normalization(const Normalization& op, const InferContext& context) {
  const Shape& x = context.shape(0);
  if (!is_real(context.input(0).type)) return context.fail("x must have a real type");
  if (op.over_rows()) {
    TENON_TRY(resolve_axis(op.axis, context.rank(0), context));
    for (int i = 1; i < 3; ++i)
      if (context.has_input(i) && !broadcasts_to(context.shape(i), x, context))
        return context.fail(fmt::format("input {} does not broadcast to x", i));
    return {};
  }
  if (x.size() < 2) return context.fail("x needs a rank of at least 2: [N,C,...]");
  if (op.groups < 1) return context.fail(fmt::format("{} groups", op.groups));
  if (op.norm == NormKind::kGroup && x[1].is_constant() && x[1].constant() % op.groups != 0)
    return context.fail(
        fmt::format("{} channels do not divide into {} groups", x[1].constant(), op.groups));
  TENON_TRY(check_channel_vector(context, 1));
  return check_channel_vector(context, 2);
}

/// x as rows that are normalized on their own, and how scale and bias spread over it.
struct Rows {
  int64_t count = 1, length = 1;
  int64_t channels = 0, spatial = 1;  ///< Of instance and group normalization.
};

Result<Rows> rows_of(const Normalization& op, const Tensor& x, const Fail& fail) {
  Rows rows;
  if (op.over_rows()) {
    TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), fail));
    rows.count = count_between(x.extents(), 0, axis);
    rows.length = count_between(x.extents(), axis, x.rank());
    return rows;
  }
  if (x.rank() < 2) return fail("x needs a rank of at least 2: [N,C,...]");
  rows.channels = x.extents()[1];
  rows.spatial = count_between(x.extents(), 2, x.rank());
  const int64_t groups = op.norm == NormKind::kGroup ? op.groups : rows.channels;
  if (groups < 0 || (groups == 0 ? rows.channels != 0 : rows.channels % groups != 0))
    return fail("{} channels do not divide into {} groups", rows.channels, groups);
  rows.count = x.extents()[0] * groups;
  rows.length = groups == 0 ? 0 : rows.channels / groups * rows.spatial;
  return rows;
}

/// Scale or bias as one number an element of x.
template <class T>
Result<std::vector<T>> spread(const Normalization& op, const Tensor& vector, const Tensor& x,
                              const Rows& rows, const Fail& fail) {
  const Values<T> values(vector);
  std::vector<T> result(static_cast<size_t>(x.count()));
  if (!op.over_rows()) {
    if (values.size() != rows.channels)
      return fail("{} numbers for {} channels", values.size(), rows.channels);
    auto* to = result.data();
    for (int64_t part = 0; part < x.extents()[0] * rows.channels; ++part)
      to = std::fill_n(to, rows.spatial, values[part % rows.channels]);
    return result;
  }
  const Extents& from = vector.extents();
  const int shift = x.rank() - vector.rank();
  Strides strides(x.extents().size(), 0);
  const Strides dense = row_major_strides(from);
  for (int i = 0; i < vector.rank(); ++i) {
    if (shift < 0 || (from[i] != 1 && from[i] != x.extents()[i + shift]))
      return fail("scale or bias {} does not broadcast to x", to_string(to_shape(from)));
    if (from[i] != 1) strides[i + shift] = dense[i];
  }
  strided_copy(reinterpret_cast<std::byte*>(result.data()), row_major_strides(x.extents()),
               reinterpret_cast<const std::byte*>(values.data()), strides, x.extents(), sizeof(T));
  return result;
}

template <class T> struct Moments { std::vector<T> mean, inverse; };

/// The sum of term(0) to term(count - 1), several partial sums side by side: none waits for the one
/// before.
template <class Term> double sum_of(int64_t count, const Term& term) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  for (; i < count; ++i) sum += term(i);
  for (const double lane : sums) sum += lane;
  return sum;
}

template <class T>
Moments<T> normalize_rows(const Normalization& op, const Rows& rows, const T* x, T* y) {
  Moments<T> moments{std::vector<T>(rows.count), std::vector<T>(rows.count)};
  for (int64_t row = 0; row < rows.count; ++row) {
    const T* from = x + row * rows.length;
    double mean = 0;
    if (op.norm != NormKind::kRms)
      mean = sum_of(rows.length, [&](int64_t i) { return static_cast<double>(from[i]); });
    mean /= static_cast<double>(rows.length);
    const double variance =
        sum_of(rows.length, [&](int64_t i) { return (from[i] - mean) * (from[i] - mean); });
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(rows.length) + op.epsilon);
    for (int64_t i = 0; i < rows.length; ++i)
      y[row * rows.length + i] = static_cast<T>((from[i] - mean) * inverse);
    moments.mean[row] = static_cast<T>(mean);
    moments.inverse[row] = static_cast<T>(inverse);
  }
  return moments;
}

template <class T> Status normalize(const Normalization& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Rows rows, rows_of(op, x, context));
  std::vector<T> y(static_cast<size_t>(x.count()));
  const Moments<T> moments = normalize_rows(op, rows, Values<T>(x).data(), y.data());
  for (int i = 1; i < 3; ++i) {
    if (!context.has_input(i)) continue;
    TENON_ASSIGN(const std::vector<T> other, spread<T>(op, context.input(i), x, rows, context));
    for (size_t n = 0; n < y.size(); ++n) y[n] = i == 1 ? y[n] * other[n] : y[n] + other[n];
  }
  context.set_output(0, tensor_of_values(x.type(), x.extents(), y));
  if (context.output_count() == 1) return {};
  if (!op.over_rows()) return context.fail("only layer normalization gives mean and deviation");
  Extents kept = x.extents();
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, x.rank(), context));
  for (size_t i = axis; i < kept.size(); ++i) kept[i] = 1;
  context.set_output(1, tensor_of_values(op.compute, kept, moments.mean));
  if (context.output_count() > 2)
    context.set_output(2, tensor_of_values(op.compute, kept, moments.inverse));
  return {};
}

}  // namespace

Status infer(const Normalization& op, InferContext& context) {
  TENON_TRY(check_normalization(op, context));
  context.set_output(0, context.input(0).type, context.shape(0));
  if (context.output_count() == 1) return {};
  if (!op.over_rows()) return context.fail("only layer normalization gives mean and deviation");
  TENON_ASSIGN(const int axis, resolve_axis(op.axis, context.rank(0), context));
  Shape kept = context.shape(0);
  for (size_t i = axis; i < kept.size(); ++i) kept[i] = 1;
  for (int i = 1; i < context.output_count(); ++i) context.set_output(i, op.compute, kept);
  return {};
}

Status evaluate(const Normalization& op, EvalContext& context) {
  return with_real(context.input(0).type(),
                   [&](auto real) { return normalize<decltype(real)>(op, context); });
}

Status infer(const BatchNorm&, InferContext& context) {
  if (context.rank(0) < 2) return context.fail("x needs a rank of at least 2: [N,C,...]");
  for (int i = 1; i < 5; ++i) TENON_TRY(check_channel_vector(context, i));
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const BatchNorm& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2) return context.fail("x needs a rank of at least 2: [N,C,...]");
  const int64_t channels = x.extents()[1], spatial = count_between(x.extents(), 2, x.rank());
  for (int i = 1; i < 5; ++i)
    if (context.input(i).count() != channels)
      return context.fail(fmt::format("input {} needs {} numbers", i, channels));
  return context.finish(with_real(x.type(), [&](auto real) {
    using T = decltype(real);
    const Values<T> values(x);
    const Values<double> scale(context.input(1)), bias(context.input(2)), mean(context.input(3)),
        variance(context.input(4));
    std::vector<T> y(static_cast<size_t>(x.count()));
    for (int64_t begin = 0; begin < x.count(); begin += spatial) {
      const int64_t c = begin / spatial % channels;
      const double factor = scale[c] / std::sqrt(variance[c] + op.epsilon);
      const double moved = mean[c], to = bias[c];
      for (int64_t i = begin; i < begin + spatial; ++i)
        y[i] = static_cast<T>((values[i] - moved) * factor + to);
    }
    return tensor_of_values(x.type(), x.extents(), y);
  }));
}

Status infer(const Lrn& op, InferContext& context) {
  if (context.rank(0) < 2) return context.fail("x needs a rank of at least 2: [N,C,...]");
  if (op.size < 1) return context.fail(fmt::format("size {} is not positive", op.size));
  return context.finish(context.input(0).type, context.shape(0));
}

Status evaluate(const Lrn& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2 || op.size < 1) return context.fail("needs [N,C,...] and a positive size");
  const int64_t channels = x.extents()[1], spatial = count_between(x.extents(), 2, x.rank());
  const int64_t before = std::min((op.size - 1) / 2, channels);
  const int64_t after = std::min(op.size / 2, channels);
  return context.finish(with_real(x.type(), [&](auto real) {
    using T = decltype(real);
    const Values<T> values(x);
    std::vector<T> y(static_cast<size_t>(x.count()));
    for (int64_t i = 0; i < values.size(); ++i) {
      const int64_t c = i / spatial % channels;
      double squares = 0;
      for (int64_t k = std::max<int64_t>(0, c - before); k <= std::min(channels - 1, c + after);
           ++k)
        squares += static_cast<double>(values[i + (k - c) * spatial]) *
                   static_cast<double>(values[i + (k - c) * spatial]);
      const double base = op.bias + op.alpha / static_cast<double>(op.size) * squares;
      y[i] = static_cast<T>(values[i] / std::pow(base, op.beta));
    }
    return tensor_of_values(x.type(), x.extents(), y);
  }));
}

}  // namespace tenon
