// Queries and keys that lie side by side in one product and turn by the same tables turn at once;
// attention reads its slices of the result where they lie. Must run after merge_products, which
// puts them side by side.
#include <algorithm>

#include "passes/pass.h"
#include "passes/rotary_parts.h"

namespace tenon {
namespace {

/// A rotation of columns of a product: [B,S,columns] as it is, or [B,heads,S,size] of them.
struct Turn {
  Node* rotary = nullptr;
  LastAxisRange columns;
  const Node* parted =
      nullptr;                  ///< The reshape to [B,S,heads,size], or [B,S,columns]; may be null.
  const Node* moved = nullptr;  ///< The transpose that brings the heads forward, or null.
  int64_t heads = 0, size = 0;
};

/// Attention is all that reads the value, by way of views.
bool is_for_attention(const Graph& graph, const Value* value, int depth = 0) {
  constexpr int kDeepest = 6;
  if (depth > kDeepest || graph.is_output(value) || value->uses().empty()) return false;
  return std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
    if (use.node->is<Attention>()) return true;
    return (is_reshape(use.node) || use.node->is<Transpose>()) &&
           is_for_attention(graph, use.node->output(), depth + 1);
  });
}

std::optional<Turn> turn_of(const Graph& graph, Node& node) {
  const auto* op = node.as<RotaryEmbedding>();
  if (op == nullptr || !is_for_attention(graph, node.output())) return std::nullopt;
  Turn turn;
  turn.rotary = &node;
  Value* x = node.input(0);
  const Shape& shape = x->type.shape;
  const size_t rank = op->heads != 0 ? 3 : 4;
  if (shape.size() != rank || !shape.back().is_constant()) return std::nullopt;
  if (op->heads == 0) {
    const auto* transpose = produced_by<Transpose>(x);
    constexpr int64_t kHeadsFirst[] = {0, 2, 1, 3};
    if (transpose == nullptr || !std::ranges::equal(transpose->permutation, kHeadsFirst))
      return std::nullopt;
    turn.moved = x->producer();
    x = turn.moved->input(0);
    if (!shape[1].is_constant() || !is_reshape(x->producer())) return std::nullopt;
  }
  turn.heads = op->heads != 0 ? op->heads : shape[1].constant();
  // No conditional as the divisor: GCC 12's undefined-behaviour sanitizer then reads a copy of `op`
  // that was never made.
  const int64_t inside = op->heads != 0 ? op->heads : 1;
  turn.size = shape.back().constant() / inside;
  if (is_reshape(x->producer())) {
    turn.parted = x->producer();
    x = turn.parted->input(0);
  }
  const auto columns = range_of_last_axis(x);
  if (!columns.has_value() || columns->end - columns->begin != turn.heads * turn.size)
    return std::nullopt;
  turn.columns = *columns;
  return turn;
}

/// The same but for the number of heads, and one directly behind the other.
bool lie_side_by_side(const Turn& a, const Turn& b) {
  const auto &p = *a.rotary->as<RotaryEmbedding>(), &q = *b.rotary->as<RotaryEmbedding>();
  const auto &first = a.rotary->inputs(), &second = b.rotary->inputs();
  const auto like = [](const Node* x, const Node* y) { return (x == nullptr) == (y == nullptr); };
  return a.columns.source == b.columns.source && a.columns.end == b.columns.begin &&
         a.size == b.size && p.interleaved == q.interleaved && p.rotary_dim == q.rotary_dim &&
         (p.heads == 0) == (q.heads == 0) && first.size() == second.size() &&
         std::equal(first.begin() + 1, first.end(), second.begin() + 1) &&
         like(a.parted, b.parted) && like(a.moved, b.moved);
}

Value* sliced(Graph& graph, Value* value, int64_t begin, int64_t end, int64_t axis,
              const Node& like) {
  return add_op(graph, std::make_unique<Slice>(),
                {value, add_integers(graph, {begin}), add_integers(graph, {end}),
                 add_integers(graph, {axis})},
                like);
}

void merge(Graph& graph, const Turn& a, const Turn& b) {
  const Node& like = *a.rotary;
  const int64_t last = static_cast<int64_t>(a.columns.source->type.shape.size()) - 1;
  Value* x = sliced(graph, a.columns.source, a.columns.begin, b.columns.end, last, like);
  const int64_t heads = a.heads + b.heads;
  if (a.parted != nullptr) {
    Shape shape = a.parted->output()->type.shape;
    if (a.moved != nullptr)
      shape[2] = Dim(heads);
    else
      shape[2] = Dim(heads * a.size);
    x = add_reshape(graph, x, shape, *a.parted);
  }
  if (a.moved != nullptr) x = add_op(graph, a.moved->op->clone(), {x}, *a.moved);
  std::vector<Value*> inputs = a.rotary->inputs();
  inputs[0] = x;
  Value* rotated = add_op(graph, a.rotary->op->clone(), std::move(inputs), like);
  auto* op = rotated->producer()->as<RotaryEmbedding>();
  if (op->heads != 0) op->heads = heads;
  rotated->producer()->name = a.rotary->name + " | " + b.rotary->name;
  add_origins(*rotated->producer(), *b.rotary);
  const int64_t axis = a.moved != nullptr ? 1 : 2, unit = a.moved != nullptr ? 1 : a.size;
  stand_in(graph, *a.rotary, sliced(graph, rotated, 0, a.heads * unit, axis, *a.rotary));
  stand_in(graph, *b.rotary, sliced(graph, rotated, a.heads * unit, heads * unit, axis, *b.rotary));
}

}  // namespace

bool merge_rotary(Graph& graph, PassContext& context) {
  std::vector<Turn> turns;
  for (Node* node : nodes_of(graph))
    if (context.allows_fusion(*node))
      if (auto turn = turn_of(graph, *node)) turns.push_back(*turn);
  bool changed = false;
  for (Turn& a : turns)
    for (Turn& b : turns) {
      if (a.rotary == nullptr || b.rotary == nullptr || !lie_side_by_side(a, b)) continue;
      context.applied(a.rotary->name + " | " + b.rotary->name + " turn at once");
      merge(graph, a, b);
      a.rotary = b.rotary = nullptr;
      changed = true;
    }
  return changed;
}

}  // namespace tenon
