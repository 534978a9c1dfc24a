#pragma once

#include <map>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// Memory for a network's inputs and for its layers' results, laid out as a plan does it: one
/// arena, in which values that are not needed at the same time share bytes. Constants are not in
/// it.
class ValueMemory {
 public:
  /// Refers to the graph, which must outlive it. `layers` in the order in which they will run.
  static Result<ValueMemory> create(const Backend& backend, const ConcreteGraph& graph,
                                    std::span<Node* const> layers);

  /// Where the value's first element is; null for constants.
  void* address(const Value* value) const;
  /// The graph's inputs, and the bytes that each has.
  const std::map<const Value*, size_t>& inputs() const { return inputs_; }

 private:
  explicit ValueMemory(const ConcreteGraph& graph) : graph_(&graph) {}

  const ConcreteGraph* graph_;
  DeviceBuffer arena_;
  std::map<const Value*, size_t> offsets_;  ///< Of roots.
  std::map<const Value*, size_t> inputs_;
};

}  // namespace tenon
