// f(reshape(x)) becomes reshape(f(x)), and likewise for transposes, so that reshapes between a
// matmul over [rows, columns] and its followers on [batch, length, columns] do not part them. A
// second operand of the result's shape is moved the other way. Must run after the patterns and
// before fuse_epilogue.
#include <algorithm>
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

/// A reshape or transpose that a pointwise operator is to change places with, or several of a kind
/// behind each other, which are one: each by itself would take steps that grow with the square of a
/// chain of them.
class Mover {
 public:
  /// Null for other nodes. `backs` are not looked through.
  static std::optional<Mover> of(const Graph& graph, Node* node,
                                 const std::unordered_set<const Node*>& backs) {
    auto mover = one(node);
    if (!mover.has_value()) return mover;
    for (Node* before = mover->source_->producer();; before = mover->source_->producer()) {
      const auto inner = one(before);
      if (!inner.has_value() || inner->permutation_.empty() != mover->permutation_.empty() ||
          backs.contains(before) || only_user(graph, before->output()) == nullptr)
        return mover;
      mover->source_ = inner->source_;
      for (int64_t& axis : mover->permutation_) axis = inner->permutation_[axis];
    }
  }
  /// The node alone.
  static std::optional<Mover> one(Node* node) {
    if (node == nullptr) return std::nullopt;
    const auto* transpose = node->as<Transpose>();
    if (transpose != nullptr && !transpose->permutation.empty())
      return Mover(node, transpose->permutation);
    return is_reshape(node) ? std::optional(Mover(node, {})) : std::nullopt;
  }

  Value* source() const { return source_; }
  bool reshapes() const { return permutation_.empty(); }
  /// As the node does, on another value of its source's shape.
  Value* move(Graph& graph, Value* value) const {
    if (moves_nothing()) return value;
    if (permutation_.empty()) return add_reshape(graph, value, node_->output()->type.shape, *node_);
    return transposed(graph, value, permutation_, *node_);
  }
  /// The way back.
  Value* move_back(Graph& graph, Value* value) const {
    if (moves_nothing()) return value;
    if (permutation_.empty()) return add_reshape(graph, value, source()->type.shape, *node_);
    std::vector<int64_t> inverse(permutation_.size());
    for (size_t i = 0; i < permutation_.size(); ++i)
      inverse[permutation_[i]] = static_cast<int64_t>(i);
    return transposed(graph, value, std::move(inverse), *node_);
  }
  /// The shape that lets an operand of the result broadcast to the source; nothing where it would
  /// be cut. Without leading ones.
  std::optional<Shape> broadcast_before(Shape operand) const {
    const Shape &from = source()->type.shape, &to = node_->output()->type.shape;
    if (operand.size() > to.size()) return std::nullopt;
    operand.insert(operand.begin(), to.size() - operand.size(), Dim(1));
    auto before = permutation_.empty() ? regrouped(operand, from, to) : Shape(operand.size());
    for (size_t i = 0; i < permutation_.size(); ++i) (*before)[permutation_[i]] = operand[i];
    if (!before.has_value()) return std::nullopt;
    const auto first = std::find_if(before->begin(), before->end(),
                                    [](const Dim& dim) { return !(dim == Dim(1)); });
    before->erase(before->begin(), first);
    return before;
  }

 private:
  Mover(Node* node, std::vector<int64_t> permutation)
      : node_(node), source_(node->input(0)), permutation_(std::move(permutation)) {}

  /// Several may undo each other.
  bool moves_nothing() const {
    if (permutation_.empty()) return source()->type.shape == node_->output()->type.shape;
    return std::is_sorted(permutation_.begin(), permutation_.end());
  }

  /// By a reshape that only joins axes, or only parts them, each wholly broadcast or not at all.
  static std::optional<Shape> regrouped(const Shape& operand, const Shape& from, const Shape& to) {
    const auto is_one = [](const Dim& dim) { return dim == Dim(1); };
    if (!from.empty() && !to.empty() && from.back() == to.back() && operand.back() == to.back() &&
        std::all_of(operand.begin(), operand.end() - 1, is_one))
      return Shape{from.back()};
    Shape before;
    if (const auto groups = joined_axes(to, from)) {
      for (size_t g = 0; g < groups->size(); ++g) {
        const auto is_broadcast = [&](int64_t axis) { return is_one(operand[axis]); };
        const auto is_whole = [&](int64_t axis) { return operand[axis] == to[axis]; };
        const bool whole = std::all_of((*groups)[g].begin(), (*groups)[g].end(), is_whole);
        if (!whole && !std::all_of((*groups)[g].begin(), (*groups)[g].end(), is_broadcast))
          return std::nullopt;
        before.push_back(whole ? from[g] : Dim(1));
      }
      return before;
    }
    const auto parts = joined_axes(from, to);
    if (!parts.has_value()) return std::nullopt;
    for (size_t g = 0; g < parts->size(); ++g)
      for (const int64_t axis : (*parts)[g])
        before.push_back(is_one(operand[g]) ? Dim(1) : from[axis]);
    return before;
  }

  Node* node_;  ///< The last.
  Value* source_;
  std::vector<int64_t> permutation_;  ///< Empty: a reshape.
};

/// Numbers along one axis at most: moving them is a reshape.
bool is_vector(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(),
                       [](const Dim& dim) { return !(dim == Dim(1)); }) <= 1;
}

Value* as_shape(Graph& graph, Value* value, const Shape& shape, const Node& like) {
  if (value->constant() == nullptr || !is_constant(shape))
    return add_reshape(graph, value, shape, like);
  Tensor reshaped = value->constant()->reshaped(constants(shape));
  Value* result = graph.add_constant(std::move(reshaped));
  result->type = {value->type.type, shape};
  return result;
}

/// The other operand as it must be for the computation before the move, or null when it cannot be.
Value* matching_operand(Graph& graph, Value* other, const Node& node, const Mover& mover) {
  if (scalar_of(other).has_value() && other->constant()->count() == 1) return other;
  const Shape& shape = other->type.shape;
  if (shape == node.output()->type.shape) return mover.move_back(graph, other);
  const bool reshaped = mover.reshapes() || is_vector(shape);
  const auto before = reshaped ? mover.broadcast_before(shape) : std::nullopt;
  if (!before.has_value()) return nullptr;
  return *before == shape ? other : as_shape(graph, other, *before, node);
}

/// The value is made by something that takes the operator as it stands.
bool takes_epilogue(const Graph& graph, const Value* value) {
  const Node* node = value->producer();
  while (node != nullptr && node->is<Pointwise>() && only_user(graph, node->output()) != nullptr) {
    const Value* operand = nullptr;
    for (const Value* input : node->inputs())
      if (input->type.shape == node->output()->type.shape && input->constant() == nullptr)
        operand = operand == nullptr ? input : nullptr;
    node = operand == nullptr ? nullptr : operand->producer();
  }
  return node != nullptr && (node->is<MatMul>() || node->is<Conv>()) &&
         only_user(graph, node->output()) != nullptr;
}

/// The moved node has other users and so fuses nothing, where another operand would.
bool joins_another_operand(const Graph& graph, const Node& node, int moved, const Value* source) {
  if (only_user(graph, source) != nullptr) return false;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
    if (i != moved && node.input(i)->type.shape == node.output()->type.shape &&
        takes_epilogue(graph, node.input(i)))
      return true;
  return false;
}

/// Without users: else it would count as a user of the value before it. So with those in front.
void drop_unused(Graph& graph, Node* node) {
  while (node != nullptr && node->output()->uses().empty() && !graph.is_output(node->output()) &&
         !node->inputs().empty()) {
    Node* before = node->input(0)->producer();
    node->truncate_inputs(0);
    node = Mover::one(before).has_value() ? before : nullptr;
  }
}

/// `backs` collects the moves back: sinking through them too would never end.
bool sink_through(Graph& graph, Node& node, int i, const Mover& mover,
                  std::unordered_set<const Node*>& backs) {
  if (!is_computed(mover.source())) return false;
  if (joins_another_operand(graph, node, i, mover.source())) return false;
  std::vector<Value*> operands(node.inputs().size(), mover.source());
  for (int k = 0; k < static_cast<int>(operands.size()); ++k) {
    if (k == i) continue;
    operands[k] = matching_operand(graph, node.input(k), node, mover);
    if (operands[k] == nullptr) return false;
    if (operands[k] != node.input(k) && operands[k]->constant() == nullptr)
      backs.insert(operands[k]->producer());
  }
  Value* outer = mover.move(graph, add_op(graph, node.op->clone(), std::move(operands), node));
  stand_in(graph, node, outer);
  Node* moved = node.input(i)->producer();
  node.truncate_inputs(0);
  drop_unused(graph, moved);
  return true;
}

bool sink(Graph& graph, Node& node, std::unordered_set<const Node*>& backs) {
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    Node* const move = node.input(i)->producer();
    const auto all = Mover::of(graph, move, backs);
    if (!all.has_value() || backs.contains(move) || only_user(graph, node.input(i)) == nullptr ||
        node.output()->type.shape != node.input(i)->type.shape)
      continue;
    if (sink_through(graph, node, i, *all, backs)) return true;
    // An operand may fit behind the last of several alone.
    const auto last = Mover::one(move);
    if (last->source() != all->source() && sink_through(graph, node, i, *last, backs)) return true;
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
