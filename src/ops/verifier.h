#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Checks what every pass must leave behind, bodies included: use lists agree with operands, nodes
/// stand after what they use, values belong to the graph, operand counts fit the operator table,
/// and every value has a type. The error names the node.
Status verify(const Graph& graph);

}  // namespace tenon
