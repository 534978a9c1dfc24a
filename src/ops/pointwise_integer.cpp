// The scalar functions over integers, and the logical ones over bool.
#include <cstdint>
#include <type_traits>

#include "base/arithmetic.h"

namespace tenon::formulas {

/// An integer whose every operation is defined: results wrap, division by zero gives 0.
template <class V> struct Whole {
  using Unsigned = std::make_unsigned_t<V>;
  V value = 0;

  Whole() = default;
  constexpr Whole(V v) : value(v) {}
  explicit constexpr Whole(int v) requires(!std::is_same_v<V, int>) : value(static_cast<V>(v)) {}
  explicit constexpr Whole(double v) : value(saturate_to<V>(v)) {}
  explicit constexpr operator V() const { return value; }

  // 64 bits hold every product of narrower types and wrap for the others.
  static constexpr uint64_t wide(Whole v) { return static_cast<uint64_t>(v.value); }
  static constexpr Whole narrow(uint64_t v) { return Whole(static_cast<V>(v)); }

  friend constexpr Whole operator-(Whole x) { return narrow(0 - wide(x)); }
  friend constexpr Whole operator~(Whole x) { return narrow(~wide(x)); }
  friend constexpr Whole operator+(Whole x, Whole y) { return narrow(wide(x) + wide(y)); }
  friend constexpr Whole operator-(Whole x, Whole y) { return narrow(wide(x) - wide(y)); }
  friend constexpr Whole operator*(Whole x, Whole y) { return narrow(wide(x) * wide(y)); }
  friend constexpr Whole operator/(Whole x, Whole y) {
    if (y.value == 0) return Whole();
    if (std::is_signed_v<V> && y.value == static_cast<V>(-1)) return -x;
    return Whole(static_cast<V>(x.value / y.value));
  }
  friend constexpr Whole operator&(Whole x, Whole y) { return narrow(wide(x) & wide(y)); }
  friend constexpr Whole operator|(Whole x, Whole y) { return narrow(wide(x) | wide(y)); }
  friend constexpr Whole operator^(Whole x, Whole y) { return narrow(wide(x) ^ wide(y)); }
  friend constexpr auto operator<=>(Whole x, Whole y) = default;
};

template <class V> constexpr Whole<V> trunc_mod(Whole<V> x, Whole<V> y) {
  return y.value == 0 ? Whole<V>() : x - x / y * y;
}
template <class V> constexpr Whole<V> floor_mod(Whole<V> x, Whole<V> y) {
  const Whole<V> remainder = trunc_mod(x, y);
  const bool other_sign = (remainder.value < 0) != (y.value < 0);
  return remainder.value != 0 && other_sign ? remainder + y : remainder;
}
template <class V> constexpr Whole<V> floor_div(Whole<V> x, Whole<V> y) {
  return (x - floor_mod(x, y)) / y;
}

/// By squaring; negative exponents give the quotient 1 / x^-y rounded to zero.
template <class V> constexpr Whole<V> pow(Whole<V> x, Whole<V> y) {
  if (y.value < 0) {
    if (x.value == 1) return x;
    if (x + Whole<V>(V{1}) == Whole<V>()) return (y.value & 1) != 0 ? x : -x;
    return Whole<V>();
  }
  Whole<V> result(V{1});
  for (auto exponent = static_cast<uint64_t>(y.value); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * x;
    x = x * x;
  }
  return result;
}

template <class V> constexpr bool shifts_out(Whole<V> y) {
  return y.value < 0 || static_cast<uint64_t>(y.value) >= sizeof(V) * 8;
}
template <class V> constexpr Whole<V> shift_left(Whole<V> x, Whole<V> y) {
  if (shifts_out(y)) return Whole<V>();
  return Whole<V>::narrow(Whole<V>::wide(x) << y.value);
}
template <class V> constexpr Whole<V> shift_right(Whole<V> x, Whole<V> y) {
  if (shifts_out(y)) return Whole<V>(x.value < 0 ? static_cast<V>(-1) : V{0});
  return Whole<V>(static_cast<V>(x.value >> y.value));
}

}  // namespace tenon::formulas

#include "ops/pointwise_formulas.h"

namespace tenon {
namespace {

using namespace formulas;

template <class F, class V> constexpr RowKernel kernel() {
  if constexpr (F::kClass == PointwiseClass::arithmetic || F::kClass == PointwiseClass::bitwise)
    return run_row<F, Whole<V>, V, V>;
  else if constexpr (F::kClass == PointwiseClass::compare)
    return run_row<F, Whole<V>, V, uint8_t>;
  else if constexpr (F::kClass == PointwiseClass::logical && std::is_same_v<V, uint8_t>)
    return run_row<F, bool, uint8_t, uint8_t>;
  else
    return nullptr;
}

template <class V>
constexpr RowKernel kKernels[] = {
#define TENON_POINTWISE(name, ...) kernel<F_##name, V>(),
#include "ops/pointwise.def"
};

}  // namespace

RowKernel integer_kernel(PointwiseFunction function, DataType compute) {
  const int row = static_cast<int>(function);
  switch (compute) {
    case DataType::kInt8: return kKernels<int8_t>[row];
    case DataType::kInt16: return kKernels<int16_t>[row];
    case DataType::kInt32: return kKernels<int32_t>[row];
    case DataType::kInt64: return kKernels<int64_t>[row];
    case DataType::kUInt16: return kKernels<uint16_t>[row];
    case DataType::kUInt32: return kKernels<uint32_t>[row];
    case DataType::kUInt64: return kKernels<uint64_t>[row];
    default: return kKernels<uint8_t>[row];
  }
}

}  // namespace tenon
