#include "ops/math.h"
#include "ops/pointwise_kernels.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// A function of one real number.
bool is_activation(PointwiseFunction function) {
  const PointwiseInfo& info = pointwise_info(function);
  return info.arity == 1 &&
         (info.category == PointwiseClass::real || info.category == PointwiseClass::arithmetic);
}

template <class T>
Tensor gated(const GatedUnit& op, const Tensor& x, const Extents& extents, DataType compute) {
  const Values<T> from(x);
  std::vector<T> y(static_cast<size_t>(x.count() / 2));
  for (size_t i = 0; i < y.size(); ++i) y[i] = from.data()[2 * i];
  const RowOperand gate{y.data()};
  real_kernel(op.function, compute)(&gate, y.data(), std::ssize(y), op.alpha, op.beta);
  for (size_t i = 0; i < y.size(); ++i) y[i] *= from.data()[2 * i + 1];
  return tensor_of_values(x.type(), extents, y);
}

}  // namespace

Status infer(const GatedUnit& op, InferContext& context) {
  Shape shape = context.shape(0);
  if (!is_real(context.input(0).type) || !is_activation(op.function))
    return context.fail("x must have a real type, and the function one real operand");
  if (shape.empty() || !shape.back().is_constant() || shape.back().constant() % 2 != 0)
    return context.fail("the last axis must have pairs of elements");
  shape.back() = Dim(shape.back().constant() / 2);
  return context.finish(context.input(0).type, shape);
}

Status evaluate(const GatedUnit& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 1 || x.extents().back() % 2 != 0 || !is_activation(op.function))
    return context.fail("the last axis must have pairs of elements");
  Extents extents = x.extents();
  extents.back() /= 2;
  return context.finish(x.type() == DataType::kFloat64
                            ? gated<double>(op, x, extents, DataType::kFloat64)
                            : gated<float>(op, x, extents, DataType::kFloat32));
}

}  // namespace tenon
