#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "passes/observed_passes.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "select/pack_weights.h"
#include "select/select.h"

namespace tenon {

/// The forms that a graph takes in a build: "network", "graph:after-PASS" behind each run of a
/// pass, "graph", "tactics".
using LevelObserver = std::function<void(std::string_view level, const Graph& graph)>;

/// A network and how to optimize it.
struct CompileRequest {
  std::unique_ptr<Graph> graph;   ///< Network level.
  std::vector<Profile> profiles;  ///< Empty: the graph must have no symbolic inputs.
  PassOptions passes;
  SelectOptions select;
  Backend backend;
  /// The plan holds all weights as the model has them too, beside the forms that kernels keep.
  bool keep_originals = false;
  /// The plan holds weights in the forms that this version's kernels keep. Else as the model has
  /// them alone, so that other versions' kernels find them too; loading takes longer.
  bool packs = true;
  bool shows_tensors = false;  ///< Runs may be asked for tensors between layers.
  /// Where shapes vary and kernels are compiled, the plan may run some of them by other forms of
  /// its graph. Not for plans that are refitted: weights are put into one graph.
  bool takes_forms = false;
  /// It runs shapes under which operands are broadcast that symbols leave open, by a form for them.
  bool opens_broadcasts = false;
  LevelObserver levels;  ///< May be empty.
  /// Called when the passes are about to begin, for work beside them, for which the processor has
  /// other cores; may be empty.
  std::function<void()> before_passes;
  /// Called when the kernels of a range were tried and choices between its shapes follow, which
  /// leave most cores idle; may be empty.
  std::function<void()> before_choices;
  /// Shown the graph behind the passes that are the same whatever the precision; may be empty.
  GraphObserver before_precision;
  PackedKernel packed;  ///< As of pack_weights(), where select.watch does not look; may be empty.
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
