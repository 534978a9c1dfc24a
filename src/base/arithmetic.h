#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace tenon {

/// a + b, a * b, or nothing when the result does not fit.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}
inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// The nearest representable result.
inline int64_t saturating_add(int64_t a, int64_t b) {
  if (const auto sum = checked_add(a, b)) return *sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
inline int64_t saturating_multiply(int64_t a, int64_t b) {
  if (const auto product = checked_multiply(a, b)) return *product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}
inline int64_t saturating_negate(int64_t a) {
  return a == INT64_MIN ? INT64_MAX : -a;
}

/// Division rounding down, for b != 0; INT64_MIN / -1 saturates.
inline int64_t floor_divide(int64_t a, int64_t b) {
  if (b == -1) return saturating_negate(a);
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
/// Remainder with the sign of b, for b != 0.
inline int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/// a / b rounded up, and the next multiple of b, for a >= 0, b > 0; of unsigned numbers in their
/// own type.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
template <std::unsigned_integral T> constexpr T ceil_div(T a, std::type_identity_t<T> b) {
  return (a + b - 1) / b;
}
constexpr int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}
template <std::unsigned_integral T> constexpr T round_up(T a, std::type_identity_t<T> b) {
  return ceil_div(a, b) * b;
}

/// A double as integer T: truncated, saturated, NaN as 0.
template <class T> T saturate_to(double value) {
  using Limits = std::numeric_limits<T>;
  if (value != value) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

}  // namespace tenon
