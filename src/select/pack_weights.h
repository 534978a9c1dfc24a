#pragma once

#include <functional>

#include "base/status.h"
#include "kernels/backend.h"
#include "plan/concrete_graph.h"
#include "select/build_forecast.h"

namespace tenon {

/// Stores with every node the constants in the form that its kernel reads, so that a plan is loaded
/// without any work on weights. Constants that no kernel reads as they are lose their contents,
/// unless `keep_originals`. `packed` is told of each kernel that was made for it, with the seconds
/// that this took and the bytes of constants that it keeps in a form of its own; may be empty.
using PackedKernel = std::function<void(const KernelWork& work, double kept, double seconds)>;
Status pack_weights(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads,
                    bool keep_originals, const PackedKernel& packed = {});

}  // namespace tenon
