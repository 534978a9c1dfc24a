#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// A node that makes a NaN or an infinity out of finite inputs.
struct NonFinite {
  std::string node, op;
  std::vector<std::string> origins;
  /// "node 'exp1' (exp) makes 2 infinities in f16[4,3]; inputs: 'x' f16[4,3] from -3 to 20".
  std::string description;
};

/// The first of them, in order of evaluation with the reference; nothing when all values are
/// finite. In `precision` where given, as the passes would lower the network to it. Infinities that
/// constants hold (masks) do not count.
Result<std::optional<NonFinite>> find_non_finite(const Graph& network,
                                                 const std::vector<Tensor>& inputs,
                                                 std::optional<DataType> precision);

}  // namespace tenon
