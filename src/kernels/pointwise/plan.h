#pragma once

#include "kernels/pointwise/executor.h"
#include "kernels/tactic.h"

namespace tenon::tactics::pointwise_blocks {

Support supports(const Problem& problem);
/// The program over the problem's operands. The problem is supported.
Result<cpu::PointwisePlan> plan_of(const Problem& problem);

}  // namespace tenon::tactics::pointwise_blocks
