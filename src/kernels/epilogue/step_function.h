#pragma once

#include "kernels/epilogue/finish.h"
#include "kernels/vector_math/activations.h"

/// The pointwise function of an epilogue's step over any vector type, for the bodies that are
/// included by one source an instruction set.
namespace tenon::cpu {
namespace {

/// Lane by lane, for functions without a vector form.
template <class V, class Step> V apply_by_lane(const Step& s, V x, V y) {
  float a[V::kWidth], b[V::kWidth];
  x.store(a);
  y.store(b);
  for (int i = 0; i < V::kWidth; ++i)
    a[i] = s.operand_first ? apply_scalar(s.function, b[i], a[i], s.alpha, s.beta)
                           : apply_scalar(s.function, a[i], b[i], s.alpha, s.beta);
  return V::load(a);
}

/// Hands the function of a step (of any struct with function, operand_first, alpha and beta) to
/// `unary` as f(x), where it reads x alone, or to `binary` as f(x, operand). By reference: a
/// copy of the captured values would wait for the stores of all tiles before.
template <class V, class Step, class Unary, class Binary>
void with_function(const Step& s, const Unary& unary, const Binary& binary) {
  switch (s.function) {
#define TENON_UNARY(name)                                                               \
  case PointwiseFunction::k_##name:                                                     \
    return unary([&](V x) {                                                             \
      return vector_math::apply_unary(PointwiseFunction::k_##name, x, s.alpha, s.beta); \
    });
    TENON_UNARY(neg)
    TENON_UNARY(abs)
    TENON_UNARY(reciprocal)
    TENON_UNARY(sqrt)
    TENON_UNARY(log)
    TENON_UNARY(relu)
    TENON_UNARY(leaky_relu)
    TENON_UNARY(sigmoid)
    TENON_UNARY(hard_sigmoid)
    TENON_UNARY(hard_swish)
    TENON_UNARY(swish)
    TENON_UNARY(softplus)
    TENON_UNARY(mish)
    TENON_UNARY(gelu_erf)
    TENON_UNARY(gelu_tanh)
    TENON_UNARY(tanh)
    TENON_UNARY(erf)
    TENON_UNARY(exp)
    TENON_UNARY(clip)
    TENON_UNARY(affine)
#undef TENON_UNARY
#define TENON_BINARY(name)                                                                        \
  case PointwiseFunction::k_##name:                                                               \
    if (s.operand_first)                                                                          \
      return binary(                                                                              \
          [](V x, V y) { return vector_math::apply_binary(PointwiseFunction::k_##name, y, x); }); \
    return binary(                                                                                \
        [](V x, V y) { return vector_math::apply_binary(PointwiseFunction::k_##name, x, y); });
    TENON_BINARY(add)
    TENON_BINARY(sub)
    TENON_BINARY(mul)
    TENON_BINARY(div)
    TENON_BINARY(max)
    TENON_BINARY(min)
    TENON_BINARY(prelu)
#undef TENON_BINARY
    default: return binary([&](V x, V y) { return apply_by_lane(s, x, y); });
  }
}

}  // namespace
}  // namespace tenon::cpu
