#pragma once

#include "kernels/vector_math/activations.h"

namespace tenon::vector_math {

enum class Function { exp, exp_of_share, log, erf, tanh, sigmoid, gelu_erf, sin, cos, neg };

/// to[i] = f(x[i], y[i]) of two operands.
void combine_generic(PointwiseFunction f, const float* x, const float* y, float* to, int n);
void combine_avx2(PointwiseFunction f, const float* x, const float* y, float* to, int n);
void combine_avx512(PointwiseFunction f, const float* x, const float* y, float* to, int n);

/// y[i] = f(x[i]) with one vector type; each evaluate_*.cpp defines one instruction set's.
void evaluate_generic(Function f, const float* x, float* y, int n);
void evaluate_avx2(Function f, const float* x, float* y, int n);
void evaluate_avx512(Function f, const float* x, float* y, int n);

template <class V> inline V evaluate_one(Function f, V x) {
  switch (f) {
    case Function::exp: return exp(x);
    case Function::exp_of_share: return exp_of_share(x);
    case Function::log: return log(x);
    case Function::erf: return erf(x);
    case Function::tanh: return tanh(x);
    case Function::sigmoid: return sigmoid(x);
    case Function::gelu_erf: return gelu_erf(x);
    case Function::sin: return sin(x);
    case Function::cos: return cos(x);
    case Function::neg: return apply_unary(PointwiseFunction::k_neg, x, 0, 0);
  }
  return x;
}

template <class V> inline void evaluate(Function f, const float* x, float* y, int n) {
  for (int i = 0; i < n; i += V::kWidth) {
    const int left = n - i;
    if (left >= V::kWidth)
      evaluate_one(f, V::load(x + i)).store(y + i);
    else
      evaluate_one(f, V::load(x + i, left)).store(y + i, left);
  }
}

template <class V>
inline void combine(PointwiseFunction f, const float* x, const float* y, float* to, int n) {
  for (int i = 0; i < n; i += V::kWidth) {
    const int left = n - i < V::kWidth ? n - i : V::kWidth;
    apply_binary(f, V::load(x + i, left), V::load(y + i, left)).store(to + i, left);
  }
}

}  // namespace tenon::vector_math
