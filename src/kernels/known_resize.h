#pragma once

#include "kernels/tactic.h"
#include "ops/nn.h"
#include "ops/resize_taps.h"

namespace tenon {

/// The taps of a Resize whose numbers are known when the plan is built.
inline Result<std::vector<ResizedAxis>> known_axes(const Problem& problem) {
  const auto known = [&](int input) -> Result<const Tensor*> {
    if (!problem.has_input(input) || problem.input(input).count() == 0) return nullptr;
    if (problem.input(input).constant == nullptr)
      return unsupported("operand {} is computed at run time", input);
    return problem.input(input).constant;
  };
  const bool stretches = problem.operation.as<Resize>()->aspect == AspectPolicy::kStretch;
  TENON_ASSIGN(const Tensor* roi, known(1));
  TENON_ASSIGN(const Tensor* scales, known(2));
  TENON_ASSIGN(const Tensor* sizes, stretches ? nullptr : known(3));
  return resized_axes(problem.operation, problem.input(0).extents, problem.output().extents, roi,
                      scales, sizes);
}

}  // namespace tenon
