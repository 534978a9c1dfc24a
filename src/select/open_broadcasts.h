#pragma once

#include <memory>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// Of two extents that symbols leave open, inference keeps the first operand's (joined_shape),
/// which a run must not broadcast. A form of the graph that serves such runs: operands of
/// elementwise operators and products are expanded to the largest extent. The ranges of its symbols
/// begin at 1. Null where no extents of two inputs meet that symbols leave open.
Result<std::unique_ptr<Graph>> with_open_broadcasts(const Graph& graph);
/// Shapes of a plan that only that form runs: one extent of an input at its least, the others at
/// their most.
std::vector<SymbolValues> broadcasts_of(const Plan& plan, const Graph& open);

}  // namespace tenon
