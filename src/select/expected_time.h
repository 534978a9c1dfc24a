#pragma once

#include "kernels/tactic.h"

namespace tenon {

/// Multiplications of one launch, roughly: good to tell large layers from small ones.
double multiplications(const Problem& problem);

/// Seconds that a kernel of usual quality takes for the problem on a device of usual speed. For
/// estimates of how long builds take, which correct its pace.
double expected_launch(const Problem& problem);

}  // namespace tenon
