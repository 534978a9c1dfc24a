#pragma once

#include <fmt/format.h>

#include "kernels/jit/kernel_code.h"

namespace tenon {

/// Numbers for quotient() of jit/bytes.cuh.
struct Reciprocal {
  double inverse = 0;
  bool is_used = false;  ///< Not where scale, reciprocal or remainder may be denormal or too large.
};
inline Reciprocal reciprocal_of(double scale) {
  const bool is_moderate = scale > 1e-18 && scale < 1e18;
  return {is_moderate ? 1 / static_cast<double>(static_cast<float>(scale)) : 0.0, is_moderate};
}

/// Constants for them: kScale, kInverse and kByReciprocal.
inline void add_quotient(KernelCode& code, double scale) {
  const Reciprocal reciprocal = reciprocal_of(scale);
  code.flag("kByReciprocal", reciprocal.is_used);
  code.real("kScale", scale);
  code.real("kInverse", reciprocal.inverse);
}

/// The expression that quantizes a float to a type of 8 bits: an integer as a float, or the
/// quotient that conversions to floats of 8 bits round. Needs jit/bytes.cuh.
inline std::string quantized_expression(std::string_view value, DataType type, double scale,
                                        double zero) {
  const Reciprocal reciprocal = reciprocal_of(scale);
  const std::string quotient =
      fmt::format("in_scales<{}>({}, float({}), float({}))", reciprocal.is_used, value,
                  device_real(scale), device_real(reciprocal.inverse));
  if (is_real(type)) return quotient;
  const bool is_signed = type == DataType::kInt8;
  return fmt::format("whole_in_scales({}, float({}), {}, {})", quotient, device_real(zero),
                     is_signed ? "-128.0f" : "0.0f", is_signed ? "127.0f" : "255.0f");
}

/// Elements of 8 bits that kernels quantize to, in device code; null for other types.
inline const char* byte_type(DataType type) {
  if (type == DataType::kFloat8E4M3) return "e4m3";
  if (type == DataType::kFloat8E5M2) return "e5m2";
  return is_byte_integer(type) ? device_type(type) : nullptr;
}

}  // namespace tenon
