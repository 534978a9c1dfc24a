#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon::network {

/// The nodes between the entries and exits of a loop or conditional in a flat graph, in order.
/// Assertions about inner values count as exits with `effects`.
std::vector<Node*> nodes_between(const Graph& graph, const std::vector<Value*>& entries,
                                 const std::vector<Value*>& exits, bool effects);

/// A body under construction: copies of nodes of the flat graph. Values from outside come in as
/// captures; constants are copied.
class BodyBuilder {
 public:
  BodyBuilder() : graph_(std::make_unique<Graph>()) {}

  Graph& graph() { return *graph_; }
  /// From now on `outer` is `inner` inside.
  void bind(const Value* outer, Value* inner) { inside_[outer] = inner; }
  /// An input of the body that stands for no value of the flat graph, before all captures.
  Value* add_input(std::string name, TensorType type);
  void copy(const std::vector<Node*>& nodes);
  /// The value inside; captured when it is not.
  Value* inner(Value* outer);
  /// `result` computed once more by copies of `nodes`, with other values for some it depends on.
  Value* recompute(const std::vector<Node*>& nodes, std::map<const Value*, Value*> others,
                   Value* result);
  void add_output(Value* inner);
  /// Values of the flat graph that the node takes after its own operands.
  const std::vector<Value*>& captures() const { return captures_; }
  /// Another body of the same node takes the same captures, in the same order.
  void capture_all(const std::vector<Value*>& values);
  std::unique_ptr<Graph> finish() { return std::move(graph_); }

 private:
  Value* capture(Value* outer);

  std::unique_ptr<Graph> graph_;
  std::map<const Value*, Value*> inside_;
  std::vector<Value*> captures_;
};

/// Copies a node with its bodies to the end of a graph.
Node* copy_node(Graph& graph, const Node& node, std::vector<Value*> inputs);

}  // namespace tenon::network
