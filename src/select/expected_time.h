#pragma once

#include "kernels/tactic.h"
#include "select/build_forecast.h"

namespace tenon {

/// Whether most of its work is a product, a convolution, attention or recurrence.
bool has_product(const Problem& problem);

/// Multiplications of one launch, roughly: good to tell large layers from small ones.
double multiplications(const Problem& problem);

/// The work of a kernel for the problem.
KernelWork work_of(const Problem& problem);

/// Seconds that a kernel of usual quality takes for the problem on a device of usual speed. For
/// estimates of how long builds take, which correct its pace.
double expected_launch(const Problem& problem);

}  // namespace tenon
