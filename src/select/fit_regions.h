#pragma once

#include "base/log.h"
#include "base/status.h"
#include "ir/graph.h"
#include "kernels/backend.h"
#include "plan/concrete_graph.h"

namespace tenon {

class BuildRecord;

/// Takes apart the fused regions that no kernel of the backend computes as one: the longest
/// beginning that some kernel takes stays a region, the rest becomes a pointwise group of its own.
/// What stands alone then runs by the kernels of its single operators. Says so at verbose level,
/// and to the record where there is one.
Status fit_regions(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads,
                   Logger* logger, BuildRecord* record);

/// Whether a kernel other than the fallback takes the problem.
bool has_kernel(const Backend& backend, const Problem& problem);

/// Whether the tactic takes anything of its operators, and slowly: it is not worth timing.
bool is_fallback(const Tactic& tactic);
/// Whether a kernel takes the problem that is no fallback.
bool has_fast_kernel(const Backend& backend, const Problem& problem);

}  // namespace tenon
