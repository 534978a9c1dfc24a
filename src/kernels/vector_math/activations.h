#pragma once

#include "kernels/vector_math/functions.h"
#include "ops/pointwise_function.h"

/// The functions of ops/pointwise.def that vector code computes directly; the rest goes through
/// their scalar formula.
namespace tenon::vector_math {

constexpr bool has_vector_form(PointwiseFunction f) {
  switch (f) {
    case PointwiseFunction::k_neg:
    case PointwiseFunction::k_abs:
    case PointwiseFunction::k_reciprocal:
    case PointwiseFunction::k_sqrt:
    case PointwiseFunction::k_rsqrt:
    case PointwiseFunction::k_exp:
    case PointwiseFunction::k_log:
    case PointwiseFunction::k_sin:
    case PointwiseFunction::k_cos:
    case PointwiseFunction::k_tanh:
    case PointwiseFunction::k_erf:
    case PointwiseFunction::k_relu:
    case PointwiseFunction::k_leaky_relu:
    case PointwiseFunction::k_sigmoid:
    case PointwiseFunction::k_hard_sigmoid:
    case PointwiseFunction::k_scaled_tanh:
    case PointwiseFunction::k_hard_swish:
    case PointwiseFunction::k_swish:
    case PointwiseFunction::k_softplus:
    case PointwiseFunction::k_mish:
    case PointwiseFunction::k_gelu_erf:
    case PointwiseFunction::k_gelu_tanh:
    case PointwiseFunction::k_clip:
    case PointwiseFunction::k_affine:
    case PointwiseFunction::k_add:
    case PointwiseFunction::k_sub:
    case PointwiseFunction::k_mul:
    case PointwiseFunction::k_div:
    case PointwiseFunction::k_max:
    case PointwiseFunction::k_min:
    case PointwiseFunction::k_prelu: return true;
    default: return false;
  }
}

/// relu keeps NaN: max and min give their second operand then.
template <class V> [[gnu::always_inline]] inline V relu(V x) {
  return max(V::zero(), x);
}

template <class V> [[gnu::always_inline]] inline V clip(V x, float low, float high) {
  return min(constant<V>(high), max(constant<V>(low), x));
}

/// log(1 + exp(x)). The part of e that 1 + e rounds away comes back as the factor e / ((1 + e) -
/// 1).
template <class V> [[gnu::always_inline]] inline V softplus(V x) {
  const V one = constant<V>(1.0f), e = exp(V::zero() - abs(x));
  const V sum = one + e, kept = sum - one;
  const V tail = select(V::zero() < kept, log(sum) * e / kept, e);
  return relu(x) + tail;
}

/// x tanh(log(1 + e)) with e = exp(x) is x n / (n + 2) with n = e (e + 2); behind 20 the quotient
/// is 1.
template <class V> [[gnu::always_inline]] inline V mish(V x) {
  const V two = constant<V>(2.0f), e = exp(min(constant<V>(20.0f), x));
  const V n = e * (e + two);
  return x * (n / (n + two));
}

/// x times the normal distribution function. The tail of that is 2^(-u q(u)) / 2 with u = |x| and a
/// polynomial q, a minimax fit of our own for the error of the result over [0, 5.9]; behind it the
/// exponent goes on linearly, where the result is below rounding. The power is that of a whole
/// number times a minimax polynomial of the rest, which has the half as a factor.
template <class V> [[gnu::always_inline]] inline V gelu_erf(V x) {
  const V u = abs(x);
  const V q = polynomial(min(constant<V>(5.93969696f), u), 1.151106715e+00f, 4.591917396e-01f,
                         5.255467817e-02f, -7.157200482e-03f, 2.141826990e-04f, 1.524091495e-04f,
                         -3.196396574e-05f, 2.194819672e-06f);
  const V power = max(constant<V>(-200.0f), V::zero() - u * q), whole = round(power);
  const V part = polynomial(power - whole, 5.000000000e-01f, 3.465735912e-01f, 1.201132312e-01f,
                            2.775164321e-02f, 4.809244536e-03f, 6.699965452e-04f, 7.672905485e-05f);
  const V tail = scale_by_power(part, whole);
  // A product with x alone: of an infinite x the other side would be infinity times zero.
  return x * select(x < V::zero(), tail, constant<V>(1.0f) - tail);
}

/// x (1 + tanh(z)) / 2 is x times the sigmoid of 2 z.
template <class V> [[gnu::always_inline]] inline V gelu_tanh(V x) {
  const V cubic = fma(x * x, constant<V>(0.044715f) * x, x);
  return x / (constant<V>(1.0f) + exp(constant<V>(-1.5957691216057308f) * cubic));
}

/// A function of one operand for which has_vector_form holds.
template <class V>
[[gnu::always_inline]] inline V apply_unary(PointwiseFunction f, V x, float alpha, float beta) {
  switch (f) {
    case PointwiseFunction::k_neg: return constant<V>(-0.0f) - x;  // of 0 it is -0
    case PointwiseFunction::k_abs: return abs(x);
    case PointwiseFunction::k_reciprocal: return constant<V>(1.0f) / x;
    case PointwiseFunction::k_sqrt: return sqrt(x);
    case PointwiseFunction::k_rsqrt: return constant<V>(1.0f) / sqrt(x);
    case PointwiseFunction::k_exp: return exp(x);
    case PointwiseFunction::k_log: return log(x);
    case PointwiseFunction::k_sin: return sin(x);
    case PointwiseFunction::k_cos: return cos(x);
    case PointwiseFunction::k_tanh: return tanh(x);
    case PointwiseFunction::k_erf: return erf(x);
    case PointwiseFunction::k_relu: return relu(x);
    case PointwiseFunction::k_leaky_relu: return select(x < V::zero(), constant<V>(alpha) * x, x);
    case PointwiseFunction::k_sigmoid: return sigmoid(x);
    case PointwiseFunction::k_hard_sigmoid:
      return clip(fma(x, constant<V>(alpha), constant<V>(beta)), 0.0f, 1.0f);
    case PointwiseFunction::k_scaled_tanh: return constant<V>(alpha) * tanh(constant<V>(beta) * x);
    case PointwiseFunction::k_hard_swish:
      return x * clip(fma(x, constant<V>(1.0f / 6.0f), constant<V>(0.5f)), 0.0f, 1.0f);
    case PointwiseFunction::k_swish:
      return x / (constant<V>(1.0f) + exp(V::zero() - constant<V>(alpha) * x));
    case PointwiseFunction::k_softplus: return softplus(x);
    case PointwiseFunction::k_mish: return mish(x);
    case PointwiseFunction::k_gelu_erf: return gelu_erf(x);
    case PointwiseFunction::k_gelu_tanh: return gelu_tanh(x);
    case PointwiseFunction::k_clip: return clip(x, alpha, beta);
    case PointwiseFunction::k_affine: return fma(x, constant<V>(alpha), constant<V>(beta));
    default: return x;
  }
}

/// A function of two operands for which has_vector_form holds.
template <class V> [[gnu::always_inline]] inline V apply_binary(PointwiseFunction f, V x, V y) {
  switch (f) {
    case PointwiseFunction::k_add: return x + y;
    case PointwiseFunction::k_sub: return x - y;
    case PointwiseFunction::k_mul: return x * y;
    case PointwiseFunction::k_div: return x / y;
    case PointwiseFunction::k_max: return select(is_nan(y), y, max(y, x));
    case PointwiseFunction::k_min: return select(is_nan(y), y, min(y, x));
    case PointwiseFunction::k_prelu: return select(x < V::zero(), x * y, x);
    default: return x;
  }
}

}  // namespace tenon::vector_math
