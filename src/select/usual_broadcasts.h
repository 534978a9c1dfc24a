#pragma once

#include <span>

#include "ir/graph.h"

namespace tenon {

/// Of two extents that symbols leave open, inference keeps the first operand's (joined_shape),
/// which a run must not broadcast. Where `usual`, the values of symbols under a profile's usual
/// shapes, broadcast it nevertheless, that operand is expanded, whose extents are right for all
/// values.
Status expand_usual_broadcasts(Graph& graph, std::span<const SymbolValues> usual);

}  // namespace tenon
