// Rows of pointwise.def as row functions over a type T. Included by the two files that instantiate
// them, after the overloads of the functions that the formulas call.
#pragma once

#include "ops/pointwise_kernels.h"

namespace tenon::formulas {

#define TENON_POINTWISE(name, arity, category, ...)                                         \
  struct F_##name {                                                                         \
    static constexpr int kArity = arity;                                                    \
    static constexpr PointwiseClass kClass = PointwiseClass::category;                      \
    template <class T>                                                                      \
    static auto apply([[maybe_unused]] T x, [[maybe_unused]] T y, [[maybe_unused]] T alpha, \
                      [[maybe_unused]] T beta) {                                            \
      [[maybe_unused]] const T z = y;                                                       \
      return __VA_ARGS__;                                                                   \
    }                                                                                       \
  };
#include "ops/pointwise.def"

/// T in memory is Stored; conversions are free.
template <class F, class T, class Stored, class Out>
void run_row(const RowOperand* operands, void* result, int64_t count, double alpha, double beta) {
  const auto* x = static_cast<const Stored*>(operands[0].data);
  const auto* y = F::kArity > 1 ? static_cast<const Stored*>(operands[1].data) : x;
  auto* out = static_cast<Out*>(result);
  const T a = T(alpha), b = T(beta);
  const auto one = [&](Stored p, Stored q) {
    return static_cast<Out>(F::template apply<T>(T(p), T(q), a, b));
  };
  const bool x_row = operands[0].stride == 1;
  const bool y_row = F::kArity == 1 || operands[1].stride == 1;
  if constexpr (F::kArity == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = one(x[i], x[i]);
  } else if (x_row && y_row) {
    for (int64_t i = 0; i < count; ++i) out[i] = one(x[i], y[i]);
  } else if (x_row) {
    for (int64_t i = 0; i < count; ++i) out[i] = one(x[i], y[0]);
  } else if (y_row) {
    for (int64_t i = 0; i < count; ++i) out[i] = one(x[0], y[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = one(x[0], y[0]);
  }
}

}  // namespace tenon::formulas
