#pragma once

#include <memory>
#include <vector>

#include "lower/step_list.h"
#include "lower/weight_loads.h"
#include "plan/branches.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// A kernel made for a node, for one sample at a time where `samples` is more than 1.
struct MadeStep {
  const Node* node = nullptr;
  std::string tactic = {};
  std::unique_ptr<Kernel> kernel = {};
  int64_t samples = 1;
  std::vector<int64_t> input_bytes = {}, output_bytes = {};  ///< From one sample to the next.
  std::vector<StepList> bodies = {};                         ///< Of control flow.
};

/// The machine's part in the order and places of steps.
struct LowerOptions {
  /// Steps end before the next one starts, so that results may take the memory of operands.
  bool shares_memory = false;
  /// Its launches may overlap, and it has streams for these.
  bool has_streams = false;
  Branches branches = {};
  size_t cache_bytes = 0;  ///< Of the last level, as of plan_prefetches().
  /// Weights that lie on the host, in the order of the steps.
  std::vector<StreamedWeight> streamed = {};
  /// The graph's list under other values of its symbols, none of which is smaller: the order of its
  /// buffers and its expressions serve again as far as they hold. Null: all is planned.
  const StepList* known = nullptr;
};

/// The steps of a graph whose extents are all known: groups, streams, fences, buffers and fetches.
/// `made` has the nodes that compute, in the graph's order.
Result<StepList> lower(const ConcreteGraph& graph, const std::vector<MadeStep>& made,
                       const LowerOptions& options);

/// Whether a node has a step of its own: constants, known shapes and views have none.
bool has_step(const ConcreteGraph& graph, const Node& node);

}  // namespace tenon
