#pragma once

#include <cmath>

/// exp, log, erf, tanh, sigmoid and friends over any of the vector types beside this file, within 4
/// units in the last place of the exact value (tests/kernels/vector_math). NaN stays NaN.
/// Polynomials are minimax fits of our own over the stated ranges.
namespace tenon::vector_math {

#define TENON_VECTOR template <class V> [[gnu::always_inline]] inline

TENON_VECTOR V constant(float x) {
  return V::broadcast(x);
}

/// c0 + x (c1 + x (c2 + ...)).
TENON_VECTOR V polynomial(V, float c0) {
  return constant<V>(c0);
}
template <class V, class... Rest>
[[gnu::always_inline]] inline V polynomial(V x, float c0, Rest... rest) {
  return fma(x, polynomial(x, rest...), constant<V>(c0));
}

TENON_VECTOR V exp(V x) {
  // Beyond these the result is 0 or infinity anyway; the order keeps NaN (max and min give the
  // second operand then).
  x = min(constant<V>(89.0f), max(constant<V>(-104.0f), x));
  const V n = round(x * constant<V>(1.44269504f));
  V r = fma(n, constant<V>(-0.693359375f), x);
  r = fma(n, constant<V>(2.12194440e-4f), r);
  const V q = polynomial(r, 5.000000000e-01f, 1.666651815e-01f, 4.166620597e-02f, 8.368882351e-03f,
                         1.395047642e-03f);
  const V p = fma(r * r, q, r) + constant<V>(1.0f);
  return scale_by_power(p, n);
}

/// exp(x) for shares of a sum of 1 or more, x at most 0: zero in place of subnormal numbers, which
/// would be lost in the sum, and by which processors multiply a hundred times slower. Masks that
/// add -100 give such shares.
TENON_VECTOR V exp_of_share(V x) {
  const V least = constant<V>(-87.0f);
  return select(x < least, V::zero(), exp(max(least, x)));
}

TENON_VECTOR V log(V x) {
  V m;
  V e = split_exponent(x, m);
  const auto large = constant<V>(1.41421356f) < m;
  m = select(large, m * constant<V>(0.5f), m);
  e = select(large, e + constant<V>(1.0f), e);
  const V f = m - constant<V>(1.0f);
  const V p = polynomial(f, 3.333331048e-01f, -2.499998659e-01f, 2.000222653e-01f,
                         -1.666924953e-01f, 1.421865523e-01f, -1.238437220e-01f, 1.187302023e-01f,
                         -1.178968474e-01f, 6.915125996e-02f);
  const V f2 = f * f;
  V r = fma(f2 * f, p, e * constant<V>(-2.12194440e-4f));
  r = fma(f2, constant<V>(-0.5f), r) + f;
  r = fma(e, constant<V>(0.693359375f), r);
  const V infinity = constant<V>(__builtin_inff());
  r = select(V::zero() < x, r, constant<V>(-__builtin_inff()));
  r = select(x < V::zero(), constant<V>(__builtin_nanf("")), r);
  return select(x < infinity, r, x);  // infinity and NaN stay
}

TENON_VECTOR V erf(V x) {
  const V t = abs(x);
  const V s = x * x;
  const V small =
      x * polynomial(s, 1.128379107e+00f, -3.761262596e-01f, 1.128358543e-01f, -2.685381100e-02f,
                     5.188327283e-03f, -8.010191377e-04f, 7.853854913e-05f);
  // From 1 on, 1 - exp(-t q(t)); 1 - erf(4) is below half a unit in the last place.
  const V u = min(constant<V>(4.0f), t);
  const V q = polynomial(u, 1.128480077e+00f, 6.358314753e-01f, 1.051161513e-01f, -2.279846929e-02f,
                         3.186948830e-03f, -2.106434986e-04f);
  const V large = copysign(constant<V>(1.0f) - exp(V::zero() - u * q), x);
  return select(constant<V>(1.0f) < t, large, small);
}

TENON_VECTOR V tanh(V x) {
  const V t = abs(x);
  const V s = x * x;
  const V small = fma(x * s,
                      polynomial(s, -3.333328366e-01f, 1.333149076e-01f, -5.374349654e-02f,
                                 2.065057866e-02f, -5.717036780e-03f),
                      x);
  const V e = exp(t + t) + constant<V>(1.0f);
  const V large = copysign(constant<V>(1.0f) - constant<V>(2.0f) / e, x);
  return select(constant<V>(0.625f) < t, large, small);
}

TENON_VECTOR V sigmoid(V x) {
  return constant<V>(1.0f) / (constant<V>(1.0f) + exp(V::zero() - x));
}

/// sin(x + quarters pi / 2). Arguments beyond the range where the product with pi / 2 is taken off
/// without loss are left to the library.
TENON_VECTOR V sine(V x, float quarters) {
  if (!(maximum(abs(x)) <= 8192.0f)) {
    float lanes[V::kWidth];
    x.store(lanes);
    for (float& lane : lanes) lane = quarters == 0 ? std::sin(lane) : std::cos(lane);
    return V::load(lanes);
  }
  const V n = round(x * constant<V>(0.636619772f));
  V r = fma(n, constant<V>(-1.5703125f), x);
  r = fma(n, constant<V>(-4.83751297e-4f), r);
  r = fma(n, constant<V>(-7.54979013e-8f), r);
  r = fma(n, constant<V>(1.71512451e-15f), r);
  const V s = r * r;
  const V odd =
      fma(r * s, polynomial(s, -1.666665386e-01f, 8.332113040e-03f, -1.950874127e-04f), r);
  const V even = fma(s * s, polynomial(s, 4.166664437e-02f, -1.388725149e-03f, 2.442568159e-05f),
                     fma(s, constant<V>(-0.5f), constant<V>(1.0f)));
  // The quarter of the circle, -2 to 2: an even one keeps the sine, and the lower half is negative.
  const V quarter = n + constant<V>(quarters);
  const V k = fma(round(quarter * constant<V>(0.25f)), constant<V>(-4.0f), quarter);
  const V y = select(abs(abs(k) - constant<V>(1.0f)) < constant<V>(0.5f), even, odd);
  const V minus = V::zero() - y;
  return select(k < constant<V>(-0.5f), minus, select(constant<V>(1.5f) < k, minus, y));
}

TENON_VECTOR V sin(V x) {
  return sine(x, 0);
}

TENON_VECTOR V cos(V x) {
  return sine(x, 1);
}

#undef TENON_VECTOR

}  // namespace tenon::vector_math
