#pragma once

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {

/// Layer or RMS normalization, which kernels compute together with the sum before it.
bool normalizes_rows(const Node& node);

/// The sum waits for the normalization behind it rather than join the product before it: on devices
/// where products take a second operand slowly (PassOptions::sums_join_products).
bool waits_for_normalization(const Graph& graph, const Node& sum, const PassContext& context);

}  // namespace tenon
