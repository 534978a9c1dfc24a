#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// A copy of a network that computes in a 16-bit type where builds let it, operator by operator,
/// but for the nodes of these names; with f32, as it is. Shapes are inferred.
Result<std::unique_ptr<Graph>> lowered_network(const Graph& network, DataType type,
                                               const std::vector<std::string>& kept);

}  // namespace tenon
