#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Random contents for every input; symbols get small values within their ranges.
std::vector<Tensor> random_inputs(const Graph& graph, uint64_t seed);

/// Evaluates both graphs on the same inputs with the reference. Empty when their outputs agree to
/// `tolerance` (relative to the largest element), else the difference; likewise values inside that
/// have the same name, extents and type in both.
std::string compare_graphs(const Graph& before, const Graph& after, uint64_t seed,
                           double tolerance);

}  // namespace tenon
