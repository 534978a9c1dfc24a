#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Moves operators, kernels' names and packed constants of `from` to the nodes of `to`, which keep
/// their addresses. Fails, and changes nothing, when the graphs differ in more than these.
Status transplant(Graph& to, Graph& from);

}  // namespace tenon
