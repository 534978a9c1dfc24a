// Random tensors. Every number is a function of seed and position only.
#include <cmath>
#include <numbers>

#include "ops/generate.h"
#include "ops/given_shape.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// A mixing function whose outputs for consecutive inputs pass for random.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// In [0, 1), number `index` of the stream of `seed`.
double uniform(int64_t seed, int64_t index) {
  const uint64_t bits = mix(mix(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(index));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

double normal(int64_t seed, int64_t index) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(seed, 2 * index)));
  return radius * std::cos(2 * std::numbers::pi * uniform(seed, 2 * index + 1));
}

}  // namespace

Status infer(const Random& op, InferContext& context) {
  TENON_ASSIGN(Shape target, given_shape(context));
  return context.finish(op.to, std::move(target));
}

Status evaluate(const Random& op, EvalContext& context) {
  TENON_ASSIGN(const Extents extents, given_extents(context));
  std::vector<double> values(static_cast<size_t>(element_count(extents)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    values[i] = op.distribution == Distribution::kNormal
                    ? op.a + op.b * normal(op.seed, index)
                    : op.a + (op.b - op.a) * uniform(op.seed, index);
  }
  return context.finish(tensor_of_values(op.to, extents, values));
}

Status infer(const Bernoulli& op, InferContext& context) {
  return context.finish(op.same_type ? context.input(0).type : op.to, context.shape(0));
}

Status evaluate(const Bernoulli& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  std::vector<double> values(static_cast<size_t>(x.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    values[i] = uniform(op.seed, index) < x.as_double(index) ? 1 : 0;
  }
  return context.finish(tensor_of_values(op.same_type ? x.type() : op.to, x.extents(), values));
}

Status infer(const Multinomial& op, InferContext& context) {
  TENON_TRY(expect_rank(context.shape(0), 2, "x", context));
  if (op.samples < 1) return context.fail("the number of samples must be positive");
  return context.finish(op.to, {context.shape(0)[0], op.samples});
}

Status evaluate(const Multinomial& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_TRY(expect_rank(shape_of(x), 2, "x", context));
  TENON_ASSIGN(const Extents extents, concrete({x.extents()[0], op.samples}, context));
  const int64_t classes = x.extents()[1];
  if (classes == 0) return context.fail("there are no classes to draw");
  const Values<double> scores(x);
  std::vector<double> drawn(static_cast<size_t>(element_count(extents))), sums(classes);
  for (int64_t i = 0; i < static_cast<int64_t>(drawn.size()); ++i) {
    const double* row = scores.data() + i / op.samples * classes;
    double top = row[0], sum = 0;
    for (int64_t c = 1; c < classes; ++c) top = std::max(top, row[c]);
    for (int64_t c = 0; c < classes; ++c) sums[c] = sum += std::exp(row[c] - top);
    const double at = uniform(op.seed, i) * sum;
    int64_t chosen = 0;
    while (chosen + 1 < classes && sums[chosen] <= at) ++chosen;
    drawn[i] = static_cast<double>(chosen);
  }
  return context.finish(tensor_of_values(op.to, extents, drawn));
}

}  // namespace tenon
