#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tenon {

/// A step's operand whose contents lie on the host.
struct StreamedWeight {
  int step = 0;
  int operand = 0;
  bool is_own = false;  ///< As StepLoad::is_own.
  size_t bytes = 0;
};

/// Steps that begin together; the numbers of the first one and of the one behind the last.
struct StepSpan {
  int first = 0, end = 0;
};

/// For each weight the first step of the group from whose start on it is copied. Memory is for two
/// groups of readers that follow each other: while one computes, the weights of the next arrive,
/// and smaller ones are copied as far ahead as there is room.
std::vector<int> plan_weight_loads(std::span<const StreamedWeight> weights,
                                   std::span<const StepSpan> groups);

}  // namespace tenon
