#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "plan/plan.h"

namespace tenon {

/// A node that stays in f32 for a budget, or reads numbers that are not quantized, and why.
struct KeptNode {
  std::string name, reason;
  bool is_unquantized = false;
};

/// The nodes of a network that must not compute in a 16-bit type: those that make or read numbers
/// beyond its range, and as few of the most sensitive as keep the relative L2 error of the outputs
/// within `budget`. Judged on random inputs with the extents of the first profile's optimum, by an
/// evaluation on the processor of the network as builds lower it. Fails where shapes are
/// data-dependent.
Result<std::vector<KeptNode>> nodes_to_keep(const Graph& network,
                                            const std::vector<Profile>& profiles, DataType type,
                                            double budget, Logger& logger);

}  // namespace tenon
