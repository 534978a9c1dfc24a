#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/numerics.h"

namespace tenon {

/// Norm of the difference over the norm of `expected`, over elements that are finite in both; 1 for
/// other extents, or where only one is finite. For integers and bools the share of elements that
/// differ.
double distance(const Tensor& actual, const Tensor& expected);

/// The results of a computation for operands that differ a little.
enum class Steadiness : uint8_t {
  kExact,   ///< Integers alone: they do not differ.
  kSteady,  ///< Results that differ a little.
  kJumps,   ///< Now and then other ones: rounding to bytes, comparisons, choices.
};
Steadiness steadiness_of(const Graph& graph);

/// Compares two results of one computation. Real ones by the tolerance; bytes may be neighbours now
/// and then, since sums in another order round to them; other integers and bools may differ now and
/// then unless they are exact. `rounded` as in compare_numbers(), or null.
Deviation compare_results(const Tensor& actual, const Tensor& expected, const Tensor* rounded,
                          const Tolerance& tolerance, Steadiness steadiness);

/// Empty when every output agrees, else the first that does not: "output 'y': distance 0.3, limit
/// 0.001". `rounded` is empty or has other right results of all outputs; `found` receives the
/// comparison of each.
std::string compare_outputs(const Graph& graph, std::span<const Tensor> actual,
                            std::span<const Tensor> expected, std::span<const Tensor> rounded,
                            const Tolerance& tolerance, std::vector<Deviation>* found = nullptr);

}  // namespace tenon
