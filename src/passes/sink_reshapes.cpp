// f(reshape(x)) becomes reshape(f(x)), and likewise for transposes, so that what stands between a
// matmul over [rows, columns] and what follows on [batch, length, columns] does not part them. A
// second operand of the result's shape is moved the other way. Must run after the patterns and
// before fuse_epilogue.
#include <optional>
#include <unordered_set>

#include "passes/residual.h"

namespace tenon {
namespace {

/// Worth it where the value behind the moves is computed by something that takes epilogues.
bool is_computed(const Value* value) {
  const Node* node = value->producer();
  while (node != nullptr && (is_reshape(node) || node->is<Transpose>()) &&
         node->input(0)->uses().size() == 1)
    node = node->input(0)->producer();
  return node != nullptr && (node->is<MatMul>() || node->is<Conv>() || node->is<Pointwise>());
}

Value* transposed(Graph& graph, Value* value, std::vector<int64_t> permutation, const Node& like) {
  auto transpose = std::make_unique<Transpose>();
  transpose->permutation = std::move(permutation);
  return add_op(graph, std::move(transpose), {value}, like);
}

/// A reshape or transpose that a pointwise operator is to change places with.
class Mover {
 public:
  /// Null for other nodes.
  static std::optional<Mover> of(Node* node) {
    if (node == nullptr) return std::nullopt;
    const auto* transpose = node->as<Transpose>();
    if (transpose != nullptr && !transpose->permutation.empty())
      return Mover(node, transpose->permutation);
    return is_reshape(node) ? std::optional(Mover(node, {})) : std::nullopt;
  }

  Value* source() const { return node_->input(0); }
  /// As the node does, on another value of its source's shape.
  Value* move(Graph& graph, Value* value) const {
    if (permutation_.empty()) return add_reshape(graph, value, node_->output()->type.shape, *node_);
    return transposed(graph, value, permutation_, *node_);
  }
  /// The way back.
  Value* move_back(Graph& graph, Value* value) const {
    if (permutation_.empty()) return add_reshape(graph, value, source()->type.shape, *node_);
    std::vector<int64_t> inverse(permutation_.size());
    for (size_t i = 0; i < permutation_.size(); ++i)
      inverse[permutation_[i]] = static_cast<int64_t>(i);
    return transposed(graph, value, std::move(inverse), *node_);
  }
  /// A vector along the last axis of the result is one along the last axis of the source.
  bool keeps_last_axis() const {
    const Shape &from = source()->type.shape, &to = node_->output()->type.shape;
    if (from.empty() || to.empty()) return false;
    if (permutation_.empty()) return from.back() == to.back();
    return permutation_.back() == static_cast<int64_t>(permutation_.size()) - 1;
  }

 private:
  Mover(Node* node, std::vector<int64_t> permutation)
      : node_(node), permutation_(std::move(permutation)) {}
  Node* node_;
  std::vector<int64_t> permutation_;  ///< Empty: a reshape.
};

/// The other operand as it must be for the computation before the move, or null when it cannot be.
Value* matching_operand(Graph& graph, Value* other, const Node& node, const Mover& mover) {
  if (scalar_of(other).has_value() && other->constant()->count() == 1) return other;
  if (other->type.shape.size() == 1 && mover.keeps_last_axis()) return other;
  return other->type.shape == node.output()->type.shape ? mover.move_back(graph, other) : nullptr;
}

/// `backs` collects the moves back: sinking through them too would never end.
bool sink(Graph& graph, Node& node, std::unordered_set<const Node*>& backs) {
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    const auto mover = Mover::of(node.input(i)->producer());
    if (!mover.has_value() || backs.contains(node.input(i)->producer()) ||
        only_user(graph, node.input(i)) == nullptr)
      continue;
    if (!is_computed(mover->source()) || node.output()->type.shape != node.input(i)->type.shape)
      continue;
    std::vector<Value*> operands(node.inputs().size(), mover->source());
    bool fits = true;
    for (int k = 0; k < static_cast<int>(operands.size()) && fits; ++k) {
      if (k == i) continue;
      operands[k] = matching_operand(graph, node.input(k), node, *mover);
      fits = operands[k] != nullptr;
      if (fits && operands[k] != node.input(k)) backs.insert(operands[k]->producer());
    }
    if (!fits) continue;
    Value* outer = mover->move(graph, add_op(graph, node.op->clone(), std::move(operands), node));
    stand_in(graph, node, outer);
    // Else what is dead would count as a user of what was before the move.
    Node* moved = node.input(i)->producer();
    node.truncate_inputs(0);
    if (moved->output()->uses().empty() && !graph.is_output(moved->output()))
      moved->truncate_inputs(0);
    return true;
  }
  return false;
}

}  // namespace

bool sink_reshapes(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Node*> nodes = nodes_of(graph);
  std::unordered_set<const Node*> backs;
  // Grows: a node sinks through one move after the other.
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = *nodes[i];
    if (!node.is<Pointwise>() || node.inputs().size() > 2 || !context.allows_fusion(node)) continue;
    if (waits_for_normalization(graph, node, context)) continue;
    if (node.inputs().size() == 2 && node.input(0) == node.input(1)) continue;
    if (node.output()->uses().empty() && !graph.is_output(node.output())) continue;
    const size_t before = graph.nodes().size();
    if (!sink(graph, node, backs)) continue;
    changed = true;
    for (size_t k = before; k < graph.nodes().size(); ++k)
      if (graph.nodes()[k]->is<Pointwise>()) nodes.push_back(graph.nodes()[k].get());
  }
  return changed;
}

}  // namespace tenon
