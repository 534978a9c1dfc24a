#pragma once

#include "ops/generate.h"

namespace tenon {

/// The number that a Fill repeats, as a tensor of one element.
inline Tensor fill_value(const Fill& op) {
  return op.value.defined() ? op.value : Tensor::scalar_f32(0);
}

}  // namespace tenon
