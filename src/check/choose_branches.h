#pragma once

#include "base/log.h"
#include "kernels/backend.h"
#include "plan/plan.h"
#include "select/timing_cache.h"

namespace tenon {

/// Lets branches of a plan for a GPU run on up to `most` streams beside the run's own, where that
/// is faster for the usual shapes: layers are timed one by one, a model says which could gain, and
/// the whole is timed both ways, as captured graphs. Results must be the same, byte for byte. Times
/// come from the cache, where it has them.
Status choose_branches(Plan& plan, const Backend& backend, int most, TimingCache& cache,
                       Logger& logger);

}  // namespace tenon
