#pragma once

#include <functional>
#include <span>

#include "base/status.h"
#include "kernels/backend.h"
#include "plan/concrete_graph.h"
#include "select/build_forecast.h"

namespace tenon {

/// Stores with every node the constants in the form that its kernel reads, so that a plan is loaded
/// without any work on weights. Constants that no kernel reads as they are lose their contents,
/// unless `keep_originals`, or where a kernel does not take the shapes of one of `ends`, which the
/// plan runs as well. `packed` is told of each kernel that was made for it, with the seconds
/// that this took and the bytes of constants that it keeps in a form of its own; may be empty.
using PackedKernel = std::function<void(const KernelWork& work, double kept, double seconds)>;
Status pack_weights(Graph& graph, const Backend& backend, const SymbolValues& symbols,
                    std::span<const SymbolValues> ends, int threads, bool keep_originals,
                    const PackedKernel& packed = {});

}  // namespace tenon
