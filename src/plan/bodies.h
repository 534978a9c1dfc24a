#pragma once

#include "ops/control_flow.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// The tactic of control flow, whose bodies hold tactics of their own.
inline constexpr std::string_view kBodiesTactic = "bodies";

/// A body of one of the graph's nodes under the same symbols. Knows that slices of sequences need
/// not be aligned as whole buffers are. The user's error for a branch that does not allow them.
Result<ConcreteGraph> concrete_body(const ConcreteGraph& graph, const Node& node, int body);

/// Whether all values of the graph have extents.
bool fully_resolved(const ConcreteGraph& graph);

/// Elements of an operand of control flow, which must lie in one piece, in order.
bool lies_plain(const Operand& operand);

}  // namespace tenon
