#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Infers a graph some of whose extents have become constants. Where one branch of an If does not
/// allow these, the other one takes the If's place, behind an assertion that the condition chooses
/// it: the branch that is taken is all that has to fit.
Status keep_fitting_branches(Graph& graph);

}  // namespace tenon
