// Optimizer steps. Operands: learning rate R, step T, then all tensors, all gradients, all states.
#include <cmath>

#include "onnx/node_importer.h"
#include "onnx/op_table.h"

namespace tenon::importer {
namespace {

/// Number of optimized tensors, with `kinds` operands each after R and T.
int tensor_count(NodeImporter& n, int kinds) {
  const int rest = n.input_count() - 2;
  if (rest <= 0 || rest % kinds != 0)
    n.fail(ImportCode::kInvalidNode, fmt::format("{} inputs", n.input_count()));
  return n.ok() ? rest / kinds : 0;
}

Value* pow(NodeImporter& n, double base, Value* exponent) {
  return n.pointwise(PointwiseFunction::k_pow, {n.number(base, n.type(exponent)), exponent});
}

Value* regularized(NodeImporter& n, Value* gradient, Value* x) {
  const double coefficient = n.real_attribute("norm_coefficient", 0);
  return coefficient == 0 ? gradient : n.add(n.mul(x, coefficient), gradient);
}

}  // namespace

void import_adagrad(NodeImporter& n, const OpRow&) {
  const int count = tensor_count(n, 3);
  const double decay = n.real_attribute("decay_factor", 0);
  const double epsilon = n.real_attribute("epsilon", 1e-6f);
  for (int i = 0; i < count; ++i) {
    Value* x = n.input(2 + i);
    Value* steps = n.cast(n.input(1), n.type(x));
    Value* rate = n.div(n.cast(n.input(0), n.type(x)), n.add(n.mul(steps, decay), 1.0));
    Value* gradient = regularized(n, n.input(2 + count + i), x);
    Value* squares = n.add(n.input(2 + 2 * count + i), n.mul(gradient, gradient));
    n.output(i, n.sub(x, n.div(n.mul(rate, gradient), n.add(n.sqrt(squares), epsilon))));
    n.output(count + i, squares);
  }
}

void import_adam(NodeImporter& n, const OpRow&) {
  const int count = tensor_count(n, 4);
  const double alpha = n.real_attribute("alpha", 0.9f);
  const double beta = n.real_attribute("beta", 0.999f);
  const double epsilon = n.real_attribute("epsilon", 1e-6f);
  const double after = n.real_attribute("norm_coefficient_post", 0);
  for (int i = 0; i < count; ++i) {
    Value* x = n.input(2 + i);
    Value* gradient = regularized(n, n.input(2 + count + i), x);
    Value* first = n.add(n.mul(n.input(2 + 2 * count + i), alpha), n.mul(gradient, 1 - alpha));
    Value* second =
        n.add(n.mul(n.input(2 + 3 * count + i), beta), n.mul(n.mul(gradient, gradient), 1 - beta));
    Value* steps = n.cast(n.input(1), n.type(x));
    Value* rate = n.cast(n.input(0), n.type(x));
    Value* one = n.number(1, n.type(x));
    Value* corrected = n.div(n.mul(rate, n.sqrt(n.sub(one, pow(n, beta, steps)))),
                             n.sub(one, pow(n, alpha, steps)));
    // At step 0 nothing is corrected.
    Value* started = n.pointwise(PointwiseFunction::k_greater, {steps, n.number(0, n.type(x))});
    Value* step = n.where(started, corrected, rate);
    Value* next = n.sub(x, n.div(n.mul(step, first), n.add(n.sqrt(second), epsilon)));
    n.output(i, after == 0 ? next : n.mul(next, 1 - after));
    n.output(count + i, first);
    n.output(2 * count + i, second);
  }
}

void import_momentum(NodeImporter& n, const OpRow&) {
  const int count = tensor_count(n, 3);
  const double alpha = n.real_attribute("alpha", 0);
  const double beta = n.real_attribute("beta", 0);
  const bool nesterov = n.choice("mode", "standard", {"standard", "nesterov"}) == 1;
  for (int i = 0; i < count; ++i) {
    Value* x = n.input(2 + i);
    Value* gradient = regularized(n, n.input(2 + count + i), x);
    Value* steps = n.cast(n.input(1), n.type(x));
    Value* started = n.pointwise(PointwiseFunction::k_greater, {steps, n.number(0, n.type(x))});
    Value* damping = n.where(started, n.number(beta, n.type(x)), n.number(1, n.type(x)));
    Value* momentum = n.add(n.mul(n.input(2 + 2 * count + i), alpha), n.mul(damping, gradient));
    Value* rate = n.cast(n.input(0), n.type(x));
    Value* direction = nesterov ? n.add(gradient, n.mul(momentum, alpha)) : momentum;
    n.output(i, n.sub(x, n.mul(rate, direction)));
    n.output(count + i, momentum);
  }
}

}  // namespace tenon::importer
