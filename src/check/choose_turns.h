#pragma once

#include "base/log.h"
#include "kernels/backend.h"
#include "plan/plan.h"
#include "select/timing_cache.h"

namespace tenon {

/// How far the size of turns of a batch is searched (kernels/sample_turns.h).
struct TurnSearch {
  int sizes = 0;                   ///< Besides whole batches, that are tried; 0: the usual size.
  int64_t most_bytes = INT64_MAX;  ///< As SampleTurns::most_bytes.
};

/// Times the whole plan for the usual shapes with batches that run whole and in turns of 1, 2, 4
/// ... samples, and keeps the fastest; results must be the same, byte for byte. Times come from the
/// cache, where it has them.
Status choose_turns(Plan& plan, const Backend& backend, const TurnSearch& search,
                    TimingCache& cache, Logger& logger);

}  // namespace tenon
