// Of rows that are computed each by itself the few that are wanted are computed alone: a slice of
// them moves in front of products, normalizations, attention and scalar functions. So the last
// layer of an encoder computes only the token that its head reads. Must run after
// recognize_attention, lift_products and sink_reshapes, when rows have axes of their own.
#include <algorithm>
#include <optional>

#include "passes/match.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// Slices that keep more of an axis leave products rows at unequal distances for little.
constexpr int64_t kMostKept = 2;  ///< One of so many.

/// The one axis that a slice with known numbers cuts few elements of; nothing for others.
std::optional<int64_t> few_along(const Node& node) {
  if (!node.is<Slice>() || node.inputs().size() < 4) return std::nullopt;
  for (size_t i = 1; i < node.inputs().size(); ++i)
    if (node.input(static_cast<int>(i)) != nullptr &&
        node.input(static_cast<int>(i))->constant() == nullptr)
      return std::nullopt;
  const Tensor* axes = node.input(3) == nullptr ? nullptr : node.input(3)->constant();
  if (axes == nullptr || axes->count() != 1) return std::nullopt;
  const Shape &all = node.input(0)->type.shape, &kept = node.output()->type.shape;
  const int64_t axis = axes->as_int64(0) + (axes->as_int64(0) < 0 ? std::ssize(all) : 0);
  const Dim &before = all[axis], &after = kept[axis];
  if (!after.is_constant()) return std::nullopt;
  const int64_t least = before.is_constant() ? before.constant() : kMostKept;
  return after.constant() * kMostKept <= least && after != before ? std::optional(axis)
                                                                  : std::nullopt;
}

bool equal_constants(const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const Tensor *x = a->constant(), *y = b->constant();
  return x != nullptr && y != nullptr && x->to_int64s() == y->to_int64s();
}

bool are_equal(const Node& a, const Node& b) {
  if (!b.is<Slice>() || a.inputs().size() != b.inputs().size()) return false;
  for (int i = 1; i < static_cast<int>(a.inputs().size()); ++i)
    if (!equal_constants(a.input(i), b.input(i))) return false;
  return true;
}

/// Of each operand of a node the axis along which its elements are those of the result's `axis`, or
/// kWhole where each row reads all of it.
constexpr int64_t kWhole = -1;
using Axes = std::vector<int64_t>;

/// Of operands that are broadcast to the result.
std::optional<Axes> axes_of_elements(const Node& node, int64_t axis) {
  const Shape& result = node.output()->type.shape;
  Axes axes;
  for (const Value* input : node.inputs()) {
    const Shape& shape = input->type.shape;
    const int64_t own = axis - (std::ssize(result) - std::ssize(shape));
    const bool is_whole = own < 0 || (shape[own] == Dim(1) && result[axis] != Dim(1));
    if (!is_whole && shape[own] != result[axis]) return std::nullopt;
    axes.push_back(is_whole ? kWhole : own);
  }
  return axes;
}

Axes of_first(const Node& node, int64_t axis) {
  Axes axes(node.inputs().size(), kWhole);
  axes[0] = axis;
  return axes;
}

std::optional<Axes> axes_of_product(const Node& node, int64_t axis) {
  const auto rank = std::ssize(node.output()->type.shape);
  const bool fits = !node.as<MatMul>()->transpose_a && node.input(1)->type.shape.size() == 2 &&
                    std::ssize(node.input(0)->type.shape) == rank && axis < rank - 1;
  return fits ? std::optional(of_first(node, axis)) : std::nullopt;
}

std::optional<Axes> axes_of_rows(const Node& node, int64_t axis) {
  const auto& op = *node.as<Normalization>();
  const auto rank = std::ssize(node.output()->type.shape);
  const int64_t first = op.axis + (op.axis < 0 ? rank : 0);
  const bool fits =
      op.over_rows() && axis < first &&
      std::all_of(node.inputs().begin() + 1, node.inputs().end(), [&](const Value* x) {
        return x == nullptr || std::ssize(x->type.shape) <= rank - first;
      });
  return fits ? std::optional(of_first(node, axis)) : std::nullopt;
}

/// Along the queries, which neither a mask nor their places tell apart.
std::optional<Axes> axes_of_attention(const Node& node, int64_t axis) {
  const auto& op = *node.as<Attention>();
  const int64_t result = op.out_bsnh ? 1 : 2, query = op.q_bsnh ? 1 : 2;
  const bool fits = op.causal == CausalMask::kNone && node.inputs().size() == 3 &&
                    node.input(0)->type.shape.size() == 4 &&
                    node.output()->type.shape.size() == 4 && axis == result;
  return fits ? std::optional(of_first(node, query)) : std::nullopt;
}

std::optional<Axes> operand_axes(const Node& node, int64_t axis) {
  if (node.outputs().size() != 1 ||
      std::ranges::any_of(node.inputs(), [](const Value* x) { return x == nullptr; }))
    return std::nullopt;
  if (node.is<Pointwise>() || node.is<Cast>()) return axes_of_elements(node, axis);
  if (node.is<Quantize>() || node.is<Dequantize>())
    return is_per_tensor(node) ? std::optional(of_first(node, axis)) : std::nullopt;
  if (node.is<MatMul>()) return axes_of_product(node, axis);
  if (node.is<Normalization>()) return axes_of_rows(node, axis);
  if (node.is<Attention>()) return axes_of_attention(node, axis);
  return std::nullopt;
}

class Lifter {
 public:
  Lifter(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  bool run() {
    bool changed = false;
    open_ = nodes_of(graph_, [](const Node& node) { return node.is<Slice>(); });
    while (!open_.empty()) {
      Node* slice = open_.back();
      open_.pop_back();
      changed |= lift(*slice);
    }
    return changed;
  }

 private:
  /// Whether it moved, with all slices that are equal to it, in front of all that their operand is.
  bool lift(Node& slice) {
    const auto axis = few_along(slice);
    Value* whole = slice.input(0);
    Node* producer = whole->producer();
    if (!axis || producer == nullptr || !context_.allows(slice) || !context_.allows(*producer) ||
        graph_.is_output(whole))
      return false;
    const auto axes = operand_axes(*producer, *axis);
    if (!axes || !std::ranges::all_of(whole->uses(), [&](const Use& use) {
          return use.index == 0 && are_equal(slice, *use.node);
        }))
      return false;
    if (std::ranges::count_if(whole->uses(), [&](const Use& use) { return is_result(use); }) > 1)
      return false;  // One value would be two of the graph's outputs.
    std::vector<Value*> operands = producer->inputs();
    for (size_t i = 0; i < operands.size(); ++i)
      if ((*axes)[i] != kWhole) operands[i] = sliced(operands[i], slice, (*axes)[i]);
    Value* result = add_op(graph_, producer->op->clone(), std::move(operands), *producer);
    context_.applied(fmt::format("{} before {}", slice.name, producer->name));
    replace(whole, result);
    graph_.erase(producer);
    return true;
  }

  bool is_result(const Use& use) const { return graph_.is_output(use.node->output()); }

  Value* sliced(Value* value, const Node& like, int64_t axis) {
    std::vector<Value*> inputs = like.inputs();
    inputs[0] = value;
    inputs[3] = add_integers(graph_, {axis});
    Value* result = add_op(graph_, like.op->clone(), std::move(inputs), like);
    open_.push_back(result->producer());
    return result;
  }

  /// All slices of the whole are the result now, which has the name of the graph's output among
  /// them. They are dead, and must not count as uses.
  void replace(Value* whole, Value* result) {
    std::vector<Node*> slices;
    for (const Use& use : whole->uses())
      slices.insert(is_result(use) ? slices.end() : slices.begin(), use.node);
    for (Node* slice : slices) {
      stand_in(graph_, *slice, result);
      std::erase(open_, slice);
      graph_.erase(slice);
    }
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<Node*> open_;
};

}  // namespace

bool lift_slices(Graph& graph, PassContext& context) {
  return Lifter(graph, context).run();
}

}  // namespace tenon
