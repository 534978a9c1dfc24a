#pragma once

#include "kernels/pointwise/executor.h"
#include "kernels/tactic.h"

namespace tenon::tactics::pointwise_blocks {

/// The program over the problem's operands; fails, with the reason, where the tactic has none.
Result<cpu::PointwisePlan> plan_of(const Problem& problem);

}  // namespace tenon::tactics::pointwise_blocks
