#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/extent_rules.h"

namespace tenon {

/// A part of a graph whose extents are not all known before it runs: a stretch of nodes whose
/// extents follow from symbols that are known by then, or one node whose run alone decides some.
struct GraphPart {
  /// The deciding node, of the whole graph; null: a stretch.
  const Node* node = nullptr;
  /// Copies of a stretch's nodes, with the constants that they read.
  std::unique_ptr<Graph> graph;
  std::vector<const Value*> inputs, outputs;  ///< Of the whole graph, as those of `graph`.
  std::unordered_map<const Node*, const Node*> originals;  ///< Of the copies.
  std::set<std::string> symbols;  ///< That the extents of the stretch depend on.
  ExtentRules rules;              ///< Of the stretch.
};

/// The parts in the order in which they run, when these symbols are known at the start. Stretches
/// are as long as can be; behind each comes a deciding node, or the end.
Result<std::vector<GraphPart>> split_by_symbols(const Graph& graph, std::set<std::string> known);

/// Symbols of the inputs' extents, and of the values of shape inputs.
std::set<std::string> input_symbols(const Graph& graph);

/// Whether an extent of a result stays open once these symbols have values, in bodies too.
bool is_open(const Node& node, const std::set<std::string>& known);

/// Whether any extent stays open once these symbols have values, in bodies too.
bool has_open_extents(const Graph& graph, const std::set<std::string>& known);

}  // namespace tenon
