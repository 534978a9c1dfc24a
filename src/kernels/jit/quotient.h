#pragma once

#include "kernels/jit/kernel_code.h"

namespace tenon {

/// Constants for quotient() of jit/bytes.cuh: kScale, kInverse, and kByReciprocal, which is false
/// where the scale, its reciprocal or a remainder may be denormal or too large.
inline void add_quotient(KernelCode& code, double scale) {
  const bool is_moderate = scale > 1e-18 && scale < 1e18;
  code.flag("kByReciprocal", is_moderate);
  code.real("kScale", scale);
  code.real("kInverse", is_moderate ? 1 / static_cast<double>(static_cast<float>(scale)) : 0.0);
}

}  // namespace tenon
