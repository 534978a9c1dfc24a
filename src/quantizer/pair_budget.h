#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "plan/plan.h"
#include "quantizer/precision_budget.h"

namespace tenon {

/// The nodes of a network with QuantizeLinear and DequantizeLinear that must read numbers as they
/// are: as few of the most sensitive as keep the relative L2 error of the outputs within `budget`.
/// Weights that are stored as integers stay so. Judged as nodes_to_keep() does.
Result<std::vector<KeptNode>> readers_to_keep(const Graph& network,
                                              const std::vector<Profile>& profiles, double budget,
                                              Logger& logger);

/// Lets the nodes of these names read the numbers ahead of such pairs.
void leave_pairs_out(Graph& graph, const std::vector<KeptNode>& readers);

}  // namespace tenon
