#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "check/deadline.h"
#include "ops/numerics.h"
#include "passes/pass.h"

namespace tenon {

/// The expected results of a graph: results of the reference on some inputs.
struct Expectation {
  std::vector<Tensor> inputs, outputs;
  /// Empty, or outputs that show the effect of rounding alone.
  std::vector<Tensor> rounded;
  Tolerance tolerance;
  /// Values inside by name; values that the graph no longer has are not compared. May be empty.
  std::map<std::string, Tensor> values;
  /// Empty, or other right values of the same names.
  std::map<std::string, Tensor> rounded_values;
  /// Outputs of a graph for the inputs, where no values inside are compared; the reference's plain
  /// loops where empty.
  std::function<Result<std::vector<Tensor>>(const Graph&)> evaluate;
};

/// Empty when the reference gives those outputs and values for the graph, else the difference: the
/// first region "region 'conv1 + relu1', value 'y'", or an output.
std::string deviation(const Graph& graph, const Expectation& expected);

/// Result of a search for wrong passes.
struct WrongPasses {
  std::vector<std::string> disabled;  ///< "pass:node", or "pass" where many nodes are wrong.
  bool in_time = true;                ///< False: the deadline came before everything was right.
};

/// Runs the passes on a copy of `network`. While the result deviates, finds the guilty pass and
/// node by bisection and adds "pass:node" to options.disabled (the whole pass where no single node
/// is guilty, or many are, but never lower_precision, which the user asked for). An error where
/// even that does not help.
Result<WrongPasses> disable_wrong_passes(const Graph& network, PassOptions& options,
                                         const Expectation& expected, const Deadline& deadline,
                                         Logger& logger);

}  // namespace tenon
