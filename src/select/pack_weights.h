#pragma once

#include "base/status.h"
#include "kernels/backend.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// Stores with every node the constants in the form that its kernel reads, so that a plan is loaded
/// without any work on weights. Constants that no kernel reads as they are lose their contents,
/// unless `keep_originals`.
Status pack_weights(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads,
                    bool keep_originals);

}  // namespace tenon
