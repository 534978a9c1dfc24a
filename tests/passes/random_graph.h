#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// A random graph of the operators that passes rewrite: pointwise operators, products,
/// convolutions, normalizations, reductions, data movement, branches, loops and scans over a few
/// small tensors, with constants and shared values. The same seed gives the same graph; those from
/// kBranchSeeds on have sums of convolutions, too.
constexpr uint64_t kBranchSeeds = uint64_t{1} << 40;
std::unique_ptr<Graph> random_graph(uint64_t seed, int nodes);

/// The first axes of the inputs of more than two become a symbol, as far as the operators behind
/// them allow it; an error where they do not.
Status open_batch(Graph& graph, const Range& range);

/// Some nodes compute in f16 or bf16 from now on, and some products have operands of 8 bits.
Status change_types(Graph& graph, uint64_t seed);

}  // namespace tenon
