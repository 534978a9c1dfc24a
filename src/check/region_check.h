#pragma once

#include <map>
#include <string>
#include <vector>

#include "check/pass_bisect.h"
#include "select/compile.h"

namespace tenon {

/// A region whose kernel computes something else than the reference from the same operands.
struct WrongRegion {
  std::string region, tactic;
  std::string description;  ///< "region 'conv1 + relu1', cpu.conv.nhwc: distance 0.3, limit 0.002".
};

/// What a check of each region found.
struct RegionReport {
  int checked = 0, regions = 0;  ///< Those with extents from data and those with effects are left.
  std::vector<WrongRegion> wrong;
};

/// Contents of all values of the network that have a name and are not constant. Passes keep the
/// name of a value only where they compute the same.
Result<std::map<std::string, Tensor>> named_values(const Graph& network,
                                                   const std::vector<Tensor>& inputs);

/// Runs each region of the plan alone, on operands that the reference computed, and compares its
/// results with the reference's: mistakes do not add up, so limits are those of one kernel. The
/// plan must hold its constants as the reference reads them.
Result<RegionReport> check_regions(const Plan& plan, const Backend& backend, int threads,
                                   const std::vector<Tensor>& inputs);

}  // namespace tenon
