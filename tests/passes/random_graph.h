#pragma once

#include <cstdint>
#include <memory>

#include "ir/graph.h"

namespace tenon {

/// A random graph of the operators that passes rewrite: pointwise operators, products,
/// convolutions, normalizations, reductions, data movement, branches, loops and scans over a few
/// small tensors, with constants and shared values. The same seed gives the same graph.
std::unique_ptr<Graph> random_graph(uint64_t seed, int nodes);

}  // namespace tenon
