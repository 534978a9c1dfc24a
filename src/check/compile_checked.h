#pragma once

#include <span>
#include <string>
#include <vector>

#include "select/compile.h"

namespace tenon {

/// Whether and how a build checks itself.
struct SelfCheck {
  bool enabled = true;
  /// Each region's results are compared too, and the network's values that the plan still has; so
  /// they are from kRegionLevel on.
  bool regions = false;
  /// Models that cost the reference more multiplications than this are not checked; -1:
  /// kDefaultMaxCost, or kMaxCostOnProcessor where the processor's kernels are the reference: for
  /// plans of other devices, unless regions are compared.
  int64_t max_cost = -1;
  /// Contents of the inputs; random where empty.
  std::vector<Tensor> inputs;

  static constexpr int64_t kDefaultMaxCost = 12'000'000'000;
  static constexpr int64_t kMaxCostOnProcessor = 200'000'000'000;
  /// Optimization level from which builds check themselves.
  static constexpr int kMinLevel = 3;
  static constexpr int kRegionLevel = 5;
};

/// compile(), then runs the plan and compares its outputs with those of the network as it was
/// given: the reference's, or for plans of a GPU the processor's (check/processor_reference.h).
/// Where they differ, wrong passes are left out for the nodes that they spoil, or else a wrong
/// kernel is left out, with a warning that names them, and the plan is made again. The plan says in
/// settings["self_check"] what was found, and in settings["self_check_regions"] how many of its
/// regions were compared ("54 of 56").
Result<Plan> compile_checked(CompileRequest request, TimingCache& cache, const SelfCheck& check,
                             Logger& logger);

/// Runs a copy of the plan once on the host's tensors.
Result<std::vector<Tensor>> run_plan(const Plan& plan, const Backend& backend, int threads,
                                     std::span<const Tensor> inputs);

}  // namespace tenon
