// Normalization in two halves: moments of rows, where a row is written, and the normalized row.
#include <cmath>

#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Mean and sum of squared deviations of some elements.
struct RunningMoments {
  double count = 0, mean = 0, squares = 0;

  void join(double others, double other_mean, double other_squares) {
    const double step = other_mean - mean, all = count + others;
    mean += step * others / all;
    squares += other_squares + step * step * count * others / all;
    count = all;
  }
};

template <class T> std::vector<float> moments_of(const T* x, int64_t groups, int64_t length) {
  std::vector<float> moments;
  for (int64_t group = 0; group < groups; ++group, x += length) {
    RunningMoments running;
    for (int64_t i = 0; i < length; ++i) running.join(1, x[i], 0);
    moments.push_back(static_cast<float>(running.mean));
    moments.push_back(static_cast<float>(running.squares));
  }
  return moments;
}

template <class T>
void standardize_row(const Standardize& op, const T* x, const float* moments, int64_t groups,
                     int64_t length, T* y) {
  const auto count = static_cast<double>(length), each = count / static_cast<double>(groups);
  RunningMoments row;
  for (int64_t i = 0; i < groups; ++i) row.join(each, moments[2 * i], moments[2 * i + 1]);
  const bool rms = op.norm == NormKind::kRms;
  const double squares = row.squares / count + (rms ? row.mean * row.mean : 0);
  const double inverse = 1 / std::sqrt(squares + op.epsilon), mean = rms ? 0 : row.mean;
  for (int64_t i = 0; i < length; ++i) y[i] = static_cast<T>((x[i] - mean) * inverse);
}

}  // namespace

Status infer(const RowMoments& op, InferContext& context) {
  Shape shape = context.shape(0);
  if (!is_real(context.input(0).type) || shape.empty() || op.group < 1)
    return context.fail("x must be rows of a real type, and groups not empty");
  if (!shape.back().is_constant() || shape.back().constant() % op.group != 0)
    return context.fail("rows do not divide into groups");
  shape.back() = Dim(shape.back().constant() / op.group);
  shape.emplace_back(2);
  return context.finish(DataType::kFloat32, shape);
}

Status evaluate(const RowMoments& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 1 || op.group < 1 || x.extents().back() % op.group != 0)
    return context.fail("rows do not divide into groups");
  Extents extents = x.extents();
  extents.back() /= op.group;
  extents.push_back(2);
  return context.finish(with_real(x.type(), [&](auto real) {
    const Values<decltype(real)> values(x);
    return tensor_of_values(DataType::kFloat32, extents,
                            moments_of(values.data(), x.count() / op.group, op.group));
  }));
}

Status infer(const Standardize& op, InferContext& context) {
  const Shape &x = context.shape(0), &moments = context.shape(1);
  if (!is_real(context.input(0).type) || x.empty()) return context.fail("x must have a real type");
  if (op.norm != NormKind::kLayer && op.norm != NormKind::kRms)
    return context.fail("rows have layer and RMS normalization");
  if (context.input(1).type != DataType::kFloat32 || moments.size() != x.size() + 1)
    return context.fail("input 1 must be moments of x");
  return context.finish(context.input(0).type, x);
}

Status evaluate(const Standardize& op, EvalContext& context) {
  const Tensor &x = context.input(0), &moments = context.input(1);
  const int64_t length = x.rank() < 1 ? 0 : x.extents().back();
  const int64_t rows = length == 0 ? 0 : x.count() / length;
  const int64_t groups = rows == 0 ? 0 : moments.count() / 2 / rows;
  if (rows * groups * 2 != moments.count() || (groups > 0 && length % groups != 0))
    return context.fail("input 1 must be moments of x");
  const Values<float> pairs(moments);
  return context.finish(with_real(x.type(), [&](auto real) {
    using T = decltype(real);
    const Values<T> from(x);
    std::vector<T> y(static_cast<size_t>(x.count()));
    for (int64_t row = 0; row < rows; ++row)
      standardize_row(op, from.data() + row * length, pairs.data() + row * groups * 2, groups,
                      length, y.data() + row * length);
    return tensor_of_values(x.type(), x.extents(), y);
  }));
}

}  // namespace tenon
