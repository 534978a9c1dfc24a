#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "kernels/backend.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// Gives the tactic "view" to every data-moving node that can do without a kernel: first all that
/// could are taken for views, then those are taken back whose users (or, for concat, producers)
/// have a kernel for dense operands but none for the strided ones. `symbols` are those of the usual
/// extents.
Status choose_views(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads);

}  // namespace tenon
