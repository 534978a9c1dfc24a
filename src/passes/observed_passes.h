#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "passes/origin_keeper.h"
#include "passes/pass.h"

namespace tenon {

/// Shown a graph.
using GraphObserver = std::function<void(const Graph& graph)>;
/// Told of each pass that ran: how long it took, and how it left the graph.
using PassObserver = std::function<void(const PassInfo& pass, double seconds, const Graph& graph)>;

struct PassRun {
  std::vector<std::string> applied;  ///< As run_passes() gives them.
  std::vector<GoneNode> gone;        ///< Nodes of the model that no layer stands for.
  /// Other forms of the graph, of the same inputs, outputs and symbols, one a pass that made one.
  std::vector<std::unique_ptr<Graph>> forms = {};
};

/// run_passes() with an observer; null for none. `before_precision` is shown the graph behind
/// steps_before_precision().
Result<PassRun> run_observed_passes(Graph& graph, const PassOptions& options, Logger& logger,
                                    const PassObserver& observer,
                                    const GraphObserver& before_precision = {});

}  // namespace tenon
