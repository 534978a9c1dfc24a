#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace tenon {

/// An operator with its attributes and bodies: a node without its name and its neighbours, so that
/// nothing that is asked of it depends on them.
class Operation {
 public:
  Operation() = default;
  /// Refers to the node, which must outlive it.
  Operation(const Node& node) : node_(&node) {}
  /// Keeps the graph that the node is in.
  Operation(const Node& node, std::shared_ptr<const Graph> owner)
      : node_(&node), owner_(std::move(owner)) {}

  explicit operator bool() const { return node_ != nullptr; }
  /// The operator as type T, or null when it is another one.
  template <class T> const T* as() const { return node_->as<T>(); }
  template <class T> bool is() const { return node_->is<T>(); }
  OpKind kind() const { return node_->kind(); }
  std::string_view name() const { return node_->op->name(); }
  void visit_attributes(AttributeVisitor& visitor) const { node_->op->visit_attributes(visitor); }
  std::span<const std::unique_ptr<Graph>> bodies() const { return node_->bodies; }
  size_t input_count() const { return node_->inputs().size(); }
  size_t output_count() const { return node_->outputs().size(); }
  bool has_input(int index) const { return node_->has_input(index); }
  /// The same operation of the same node; for state that is kept for a layer.
  const void* identity() const { return node_; }
  /// To evaluate it, which reads its operands' types as well.
  const Node& node() const { return *node_; }

 private:
  const Node* node_ = nullptr;
  std::shared_ptr<const Graph> owner_;
};

}  // namespace tenon
