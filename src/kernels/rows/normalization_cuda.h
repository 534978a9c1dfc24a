#pragma once

#include "kernels/jit/plan.h"

namespace tenon::tactics {

/// Layer, RMS, instance or group normalization with what follows it: one launch.
Result<JitPlan> plan_normalization(const Problem& problem);

}  // namespace tenon::tactics
