#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace tenon {

/// Told of each pass that ran: how long it took, and how it left the graph.
using PassObserver = std::function<void(const PassInfo& pass, double seconds, const Graph& graph)>;

/// run_passes() with an observer; null for none.
Result<std::vector<std::string>> run_observed_passes(Graph& graph, const PassOptions& options,
                                                     Logger& logger, const PassObserver& observer);

}  // namespace tenon
