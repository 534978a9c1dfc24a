#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Values that a plan rounds where the network that it was made from does not.
struct Rounding {
  /// The 16-bit type in which an f32 value is kept, or nothing. Null: none is.
  std::function<std::optional<DataType>(const Value&)> stored;
  bool products_in_tf32 = false;
  /// Sums in another order differ in their last bits: results of products, sums and
  /// normalizations lose a few of theirs.
  bool reordered_sums = true;
  /// Others than 0 make other errors of the same size: sums that lie in the middle between two
  /// quantized numbers go the other way.
  int draw = 0;
};

/// A copy of a graph of f32 whose values are rounded so, by nodes that do it. Its results beside
/// the graph's show the effect of such rounding alone.
Result<std::unique_ptr<Graph>> with_rounding(const Graph& graph, const Rounding& rounding);

}  // namespace tenon
