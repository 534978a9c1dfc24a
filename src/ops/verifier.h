#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Checks the invariants that every pass must keep, bodies included: use lists agree with operands,
/// nodes stand after their operands, values belong to the graph, operand counts fit the operator
/// table, and every value has a type. The error names the node.
Status verify(const Graph& graph);

}  // namespace tenon
