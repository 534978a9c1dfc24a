#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace tenon {

/// What a graph must compute: results of the reference on some inputs.
struct Expectation {
  std::vector<Tensor> inputs, outputs;
  double limit = 0;
  /// Values inside by name; what the graph no longer has is not compared. May be empty.
  std::map<std::string, Tensor> values;
};

/// Empty when the reference gives those outputs and values for the graph, else what differs: the
/// first region "region 'conv1 + relu1', value 'y'", or an output.
std::string deviation(const Graph& graph, const Expectation& expected);

/// Runs the passes on a copy of `network`. While the result deviates, finds the guilty pass and
/// node by bisection and adds "pass:node" to options.disabled (the whole pass where no single node
/// is guilty, or many are). Returns what was added, each with what it had changed; empty when
/// passes are right. An error where even that does not help.
Result<std::vector<std::string>> disable_wrong_passes(const Graph& network, PassOptions& options,
                                                      const Expectation& expected, Logger& logger);

}  // namespace tenon
