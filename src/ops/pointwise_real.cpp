// The scalar functions over float and double.
#include <cmath>

namespace tenon::formulas {

using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::ceil,
    std::cos, std::cosh, std::erf, std::exp, std::expm1, std::floor, std::log, std::log1p, std::pow,
    std::rint, std::sin, std::sinh, std::sqrt, std::tan, std::tanh;

template <class T> T floor_div(T x, T y) {
  return std::floor(x / y);
}
template <class T> T trunc_mod(T x, T y) {
  return std::fmod(x, y);
}
/// Remainder with the sign of y.
template <class T> T floor_mod(T x, T y) {
  const T remainder = std::fmod(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

}  // namespace tenon::formulas

#include "ops/pointwise_formulas.h"

namespace tenon {
namespace {

using namespace formulas;

template <class F, class T> constexpr RowKernel kernel() {
  if constexpr (F::kClass == PointwiseClass::arithmetic || F::kClass == PointwiseClass::real)
    return run_row<F, T, T, T>;
  else if constexpr (F::kClass == PointwiseClass::compare)
    return run_row<F, T, T, uint8_t>;
  else
    return nullptr;
}

template <class T>
constexpr RowKernel kKernels[] = {
#define TENON_POINTWISE(name, ...) kernel<F_##name, T>(),
#include "ops/pointwise.def"
};

}  // namespace

RowKernel real_kernel(PointwiseFunction function, DataType compute) {
  const int row = static_cast<int>(function);
  return compute == DataType::kFloat64 ? kKernels<double>[row] : kKernels<float>[row];
}

}  // namespace tenon
