#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"

namespace tenon::network {

/// A refitter's constants that stay as they are: integers, from which shapes and the choice of
/// kernels follow.
class FixedWeights {
 public:
  virtual ~FixedWeights() = default;
  /// By name; null where there is no such constant.
  virtual const Tensor* fixed_weights(const std::string& name) const = 0;
};

}  // namespace tenon::network
