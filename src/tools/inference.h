#pragma once

#include <memory>
#include <vector>

#include "tools/console.h"
#include "tools/query_log.h"
#include "tools/runner.h"

namespace tenon::tools {

/// How long to run.
struct InferenceSettings {
  int64_t iterations = 10;
  double warm_up_ms = 200;
  double duration_ms = 3000;  ///< Negative: until the process is stopped.
  double idle_ms = 0;
  bool thread_each = false;  ///< Each runner has a thread; else one thread serves them in turn.
};

struct InferenceTimes {
  QueryLog queries;  ///< After the warm-up, by start.
  int64_t warm_up_queries = 0;
  bool cut_short = false;  ///< By the user, before all was run.
};

/// Warms up, then runs all runners for at least so many iterations each and at least so long, or
/// until the user stops it.
Result<InferenceTimes> run_inference(std::vector<std::unique_ptr<Runner>>& runners,
                                     const InferenceSettings& settings, Console& console);

}  // namespace tenon::tools
