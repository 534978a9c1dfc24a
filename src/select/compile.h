#pragma once

#include <memory>
#include <vector>

#include "base/log.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "select/select.h"

namespace tenon {

/// A network and how to optimize it.
struct CompileRequest {
  std::unique_ptr<Graph> graph;   ///< Network level.
  std::vector<Profile> profiles;  ///< Empty: the graph must have no symbolic inputs.
  PassOptions passes;
  SelectOptions select;
  Backend backend;
  /// The plan holds all weights as the model has them too, beside the forms that kernels keep.
  bool keep_originals = false;
};

/// The facts about a device and its kernels for passes; the rest is as it is by default.
PassOptions pass_options_for(const Device& device);

/// Checks profiles against the graph's inputs, adds those of static inputs, and gives the graph the
/// ranges of its symbols; extents that profiles fix become constants, contents that they give
/// (plan/shape_values.h) become `dims` nodes. Doing it twice changes nothing.
Status apply_profiles(Graph& graph, std::vector<Profile>& profiles);

/// All of a build: shapes from the profiles, passes, kernels. `cache` grows.
Result<Plan> compile(CompileRequest request, TimingCache& cache, Logger& logger);

}  // namespace tenon
