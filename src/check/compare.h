#pragma once

#include <span>
#include <string>

#include "ir/graph.h"
#include "select/agreement.h"

namespace tenon {

/// Norm of the difference over the norm of `expected`, over elements that are finite in both; 1 for
/// other types or extents, or where only one is finite. For integers and bools the share of
/// elements that differ.
double distance(const Tensor& actual, const Tensor& expected);

/// Share of integers that may differ: indices of nearly equal values change places.
inline constexpr double kIntegerLimit = 0.02;

/// Empty when every output is within the limit, else what is not: "output 'y': distance 0.3, limit
/// 0.001". `worst` receives the largest distance.
std::string compare_outputs(const Graph& graph, std::span<const Tensor> actual,
                            std::span<const Tensor> expected, double limit,
                            double* worst = nullptr);

}  // namespace tenon
