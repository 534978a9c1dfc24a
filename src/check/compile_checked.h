#pragma once

#include <memory>
#include <string>
#include <vector>

#include "select/compile.h"

namespace tenon {

/// Whether and how a build checks itself.
struct SelfCheck {
  bool enabled = true;
  /// Each region's results are compared however long it takes, and the network's values that the
  /// plan still has; so they are from kRegionLevel on.
  bool regions = false;
  /// Models that cost the reference more multiplications than this are not checked; -1:
  /// kDefaultMaxCost, or kMaxCostOnProcessor where `regions` are asked for, and for plans of other
  /// devices, unless values inside are compared.
  int64_t max_cost = -1;
  /// Give a plan whose results are wrong, too; else that is an error.
  bool keep_failed = false;
  /// The network before the build quantized it, with the same inputs and outputs; null where it did
  /// not. The plan is compared with it, too, and how far outputs move is told.
  std::shared_ptr<const Graph> unquantized;
  /// Of the same build, ahead of this call: a part of all of it goes to the check.
  double seconds_before = 0;
  /// Contents of the inputs; random where empty.
  std::vector<Tensor> inputs;

  /// max_cost, or the usual one of a plan whose reference waits for the build or runs beside it.
  int64_t limit(bool is_beside, int level) const {
    if (max_cost >= 0) return max_cost;
    const bool is_quick = is_beside && level < kRegionLevel;
    return regions || is_quick ? kMaxCostOnProcessor : kDefaultMaxCost;
  }

  static constexpr int64_t kDefaultMaxCost = 12'000'000'000;
  static constexpr int64_t kMaxCostOnProcessor = 1'000'000'000'000;
  /// Optimization level from which builds check themselves.
  static constexpr int kMinLevel = 3;
  static constexpr int kRegionLevel = 5;
};

/// compile(), then checks the plan.
///
/// A kernel is wrong where its result in a run of the plan lies further from the reference's for
/// the same operands than rounding explains (check/region_check.h). Passes are wrong where the
/// plan's outputs lie further from those of the network as it was given than its rounding alone
/// moves them (check/rounding.h); they are searched for in the network's own precision, so that
/// none is blamed for the precision that the user asked for. A wrong kernel or pass is left out,
/// with a warning that names it, and the plan is made again.
///
/// Comparing regions takes the rest of a quarter of the build's time, a part of it at least, and
/// all that follows a difference as long as the build did. The plan's settings hold the result:
/// "self_check" ("passed", "passed without X", "failed: REASON", "not done: REASON"), and
/// "self_check_cost" the effect of precision ("fp16 moves output 'y' by 2.8e-2; rounding alone by
/// 2.7e-2", "int8 moves output 'y' by 0.02"). Where all regions are compared without a limit,
/// "self_check_regions" holds how many were ("54 of 56") and "self_check_open" the others; else
/// these are the machine's, and in the log alone. A plan that stays wrong is an error, unless
/// keep_failed is set.
Result<Plan> compile_checked(CompileRequest request, TimingCache& cache, const SelfCheck& check,
                             Logger& logger);

}  // namespace tenon
