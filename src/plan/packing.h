#pragma once

#include <string>

#include "ir/graph.h"
#include "kernels/backend.h"

namespace tenon {

/// Among the settings of a plan that holds packed weights.
inline constexpr const char* kPackingSetting = "packing";

/// The kernels whose packed weights a plan's graph holds, with their versions here: "a=2,b=1". The
/// form of such weights is theirs alone, so a plan that says something else is not to be read.
std::string packing_of(const Graph& graph, const Backend& backend);

}  // namespace tenon
