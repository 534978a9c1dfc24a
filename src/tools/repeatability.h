#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "tools/runner.h"

namespace tenon::tools {

/// Makes a runner with the same inputs as all others that it makes; `replay` with a captured graph.
using MakeRunner = std::function<Result<std::unique_ptr<Runner>>(bool replay)>;

struct Repeated {
  int64_t runs = 0;
  int64_t differing = 0;  ///< Runs with an output that is not the first run's, bit by bit.
};

/// Runs at least `count` times in all, in `streams` threads at a time with a context and a stream
/// each, every other one replaying a graph, and compares all outputs of each run with those of one
/// that ran alone.
Result<Repeated> repeat_runs(const MakeRunner& make, int64_t count, int streams);

}  // namespace tenon::tools
