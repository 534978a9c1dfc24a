#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Integers that follow from their places: `first`, and more by `steps[k]` for each place along
/// axis k. Steps along axes of one element are 0.
struct Counted {
  Dim first;
  std::vector<Dim> steps;

  /// All elements are `first`.
  bool is_uniform() const;
  /// The elements of `shape` follow each other: first, first + 1, ...
  bool counts_up(const Shape& shape) const;
};

/// The integers of a graph that count: ranges, constants like these, and their slices, casts, sums
/// and multiples. Of the graph as it is: another one after a change.
class CountedValues {
 public:
  explicit CountedValues(const Graph& graph) : graph_(graph) {}

  /// Nothing where the value's elements do not count, as far as is known.
  std::optional<Counted> of(const Value* value);
  /// The least and the largest element under all values of the graph's symbols.
  std::optional<Range> range(const Counted& counted, const Shape& shape) const;
  /// The elements of a - b, broadcast to `shape`.
  std::optional<Counted> difference(const Value* a, const Value* b, const Shape& shape);

 private:
  std::optional<Counted> find(const Value* value);
  std::optional<Counted> of_pointwise(const Node& node);
  std::optional<Counted> of_cast(const Node& node);
  std::optional<Counted> of_slice(const Node& node);
  std::optional<Counted> of_range(const Node& node);
  std::optional<Counted> reshaped(const Value* from, const Shape& to);
  std::optional<Counted> broadcast(const Value* value, const Shape& to);

  const Graph& graph_;
  std::unordered_map<const Value*, std::optional<Counted>> known_;
};

}  // namespace tenon
