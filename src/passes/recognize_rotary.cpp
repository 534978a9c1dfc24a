// Rotary position embedding, however it is written, becomes one operator:
//   x cos + join(-x2, x1) sin           with tables as wide as x (Llama; GPT-J where x1 and x2
//                                       alternate),
//   join(x1 cos - x2 sin, x2 cos + x1 sin)   with tables of half the width,
// and where only the first elements turn, the rest behind them. Must run after simplify and
// merge_equal, before recognize_attention.
#include "passes/pass.h"
#include "passes/rotary_parts.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

struct Rotation {
  Value *x = nullptr, *cos = nullptr, *sin = nullptr;
  bool interleaved = false;
  bool wide = false;  ///< The tables are as wide as x.
};

/// The factors of a product, none of them a number.
const Node* product_node(const Graph& graph, const Value* value) {
  const Node* node = pointwise_producer(value, k_mul);
  return node != nullptr && only_user(graph, value) != nullptr ? node : nullptr;
}

/// -value: the value, or null.
Value* negated(Value* value) {
  if (const Node* node = pointwise_producer(value, k_neg)) return node->input(0);
  const Node* node = pointwise_producer(value, k_mul);
  for (int i = 0; node != nullptr && i < 2; ++i)
    if (scalar_of(node->input(i)) == -1.0) return node->input(1 - i);
  return nullptr;
}

bool are_parts(const std::optional<HalfPart>& first, const std::optional<HalfPart>& second,
               bool interleaved) {
  return first.has_value() && second.has_value() && !first->second && second->second &&
         first->source == second->source && first->interleaved == interleaved &&
         second->interleaved == interleaved;
}

/// join(-x2, x1): x.
Value* turned(Value* value, bool& interleaved) {
  const auto joined = halves_of(value);
  Value* second = joined.has_value() ? negated(joined->first) : nullptr;
  if (second == nullptr) return nullptr;
  const auto first_part = half_part_of(joined->second), second_part = half_part_of(second);
  if (!are_parts(first_part, second_part, joined->interleaved)) return nullptr;
  interleaved = joined->interleaved;
  return first_part->source;
}

/// x cos + turned(x) sin.
std::optional<Rotation> wide_rotation(const Graph& graph, const Node& node) {
  if (!is_function(node, k_add)) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const Node* plain = product_node(graph, node.input(side));
    const Node* quarter = product_node(graph, node.input(1 - side));
    if (plain == nullptr || quarter == nullptr) return std::nullopt;
    for (int i = 0; i < 4; ++i) {
      Rotation r;
      r.x = turned(quarter->input(i % 2), r.interleaved);
      if (r.x == nullptr || plain->input(i / 2) != r.x) continue;
      r.sin = quarter->input(1 - i % 2);
      r.cos = plain->input(1 - i / 2);
      r.wide = true;
      return r;
    }
  }
  return std::nullopt;
}

/// a x + b y for products a x and b y, with the sign of the second.
struct TwoProducts {
  const Node *first = nullptr, *second = nullptr;
};

std::optional<TwoProducts> products_in(const Graph& graph, const Value* value,
                                       PointwiseFunction function) {
  const Node* node = pointwise_producer(value, function);
  if (node == nullptr || only_user(graph, value) == nullptr) return std::nullopt;
  const TwoProducts result{product_node(graph, node->input(0)),
                           product_node(graph, node->input(1))};
  if (result.first == nullptr || result.second == nullptr) return std::nullopt;
  return result;
}

/// The other factor of a product, or null.
Value* beside(const Node& product, const Value* factor) {
  if (product.input(0) == factor) return product.input(1);
  return product.input(1) == factor ? product.input(0) : nullptr;
}

/// join(x1 cos - x2 sin, x2 cos + x1 sin).
std::optional<Rotation> narrow_rotation(const Graph& graph, Node& node) {
  const auto joined = halves_of(node.output());
  if (!joined.has_value()) return std::nullopt;
  const auto real = products_in(graph, joined->first, k_sub);
  const auto imaginary = products_in(graph, joined->second, k_add);
  if (!real.has_value() || !imaginary.has_value()) return std::nullopt;
  for (int i = 0; i < 4; ++i) {
    Value *x1 = real->first->input(i % 2), *x2 = real->second->input(i / 2);
    const auto first = half_part_of(x1), second = half_part_of(x2);
    if (!are_parts(first, second, joined->interleaved)) continue;
    Value *cos = beside(*real->first, x1), *sin = beside(*real->second, x2);
    for (const auto& [a, b] : {std::pair(imaginary->first, imaginary->second),
                               std::pair(imaginary->second, imaginary->first)})
      if (beside(*a, x2) == cos && beside(*b, x1) == sin)
        return Rotation{first->source, cos, sin, joined->interleaved, false};
  }
  return std::nullopt;
}

/// How x and the tables lie: [B,heads,S,size] and [S,n] or [B,S,n] (or with a 1 for the heads), or
/// [B,S,heads,size] and [B,S,1,n].
struct Form {
  bool heads_inside = false;
  Shape table;  ///< Of the tables as the operator takes them.
};

std::optional<Form> form_of(const Rotation& r) {
  const Shape& x = r.x->type.shape;
  Shape t = r.cos->type.shape;
  if (x.size() != 4 || t.empty() || t.size() > 4 || r.sin->type != r.cos->type) return std::nullopt;
  if (r.cos->type.type != r.x->type.type || !is_real(r.x->type.type)) return std::nullopt;
  t.insert(t.begin(), 4 - t.size(), Dim(1));
  if (!x[3].is_constant() || !t[3].is_constant() || x[3].constant() % 2 != 0) return std::nullopt;
  const int64_t half = x[3].constant() / 2;
  if (t[3].constant() != (r.wide ? 2 * half : half)) return std::nullopt;
  const bool shared = t[0] == Dim(1);
  if (!shared && !(t[0] == x[0])) return std::nullopt;
  Form form;
  if (t[1] == Dim(1) && t[2] == x[2]) {
    form.table = {t[2], Dim(half)};
  } else if (t[2] == Dim(1) && t[1] == x[1]) {
    form.heads_inside = true;
    form.table = {t[1], Dim(half)};
  } else {
    return std::nullopt;
  }
  if (form.heads_inside && !x[2].is_constant()) return std::nullopt;
  if (!shared) form.table.insert(form.table.begin(), t[0]);
  return form;
}

bool tables_repeat(const Rotation& r) {
  return !r.wide || (unrepeated(nullptr, r.cos, r.interleaved) != nullptr &&
                     unrepeated(nullptr, r.sin, r.interleaved) != nullptr);
}

Value* table(Graph& graph, Value* value, const Rotation& r, const Form& form, const Node& like) {
  if (r.wide) value = unrepeated(&graph, value, r.interleaved);
  return value->type.shape == form.table ? value : add_reshape(graph, value, form.table, like);
}

Value* rotate(Graph& graph, const Rotation& r, const Form& form, const Node& like) {
  auto op = std::make_unique<RotaryEmbedding>();
  op->interleaved = r.interleaved;
  const Shape& x = r.x->type.shape;
  Value* operand = r.x;
  if (form.heads_inside) {
    op->heads = x[2].constant();
    operand = add_reshape(graph, operand, {x[0], x[1], x[2] * x[3]}, like);
  }
  Value* result = add_op(
      graph, std::move(op),
      {operand, table(graph, r.cos, r, form, like), table(graph, r.sin, r, form, like)}, like);
  result->producer()->name = fmt::format("rotary({})", like.name);
  return form.heads_inside ? add_reshape(graph, result, x, like) : result;
}

bool replace(Graph& graph, Node& node, Value* result) {
  stand_in(graph, node, result);
  return true;
}

bool whole_rotation(Graph& graph, Node& node) {
  if (node.outputs().size() != 1) return false;
  auto rotation = wide_rotation(graph, node);
  if (!rotation.has_value() && (node.is<Concat>() || is_reshape(&node)))
    rotation = narrow_rotation(graph, node);
  if (!rotation.has_value()) return false;
  const auto form = form_of(*rotation);
  if (!form.has_value() || !tables_repeat(*rotation)) return false;
  return replace(graph, node, rotate(graph, *rotation, *form, node));
}

/// join(rotary(first elements), the others).
bool partial_rotation(Graph& graph, Node& node) {
  const auto joined = node.is<Concat>() ? halves_of(node.output()) : std::nullopt;
  const auto* rotary = joined.has_value() ? produced_by<RotaryEmbedding>(joined->first) : nullptr;
  if (rotary == nullptr || rotary->heads != 0 || rotary->rotary_dim != 0 ||
      only_user(graph, joined->first) == nullptr)
    return false;
  const Node& inner = *joined->first->producer();
  const auto turning = range_of_last_axis(inner.input(0)),
             rest = range_of_last_axis(joined->second);
  if (!turning.has_value() || !rest.has_value() || turning->source != rest->source ||
      turning->begin != 0 || turning->end != rest->begin ||
      rest->source->type.shape != node.output()->type.shape)
    return false;
  auto op = std::make_unique<RotaryEmbedding>(*rotary);
  op->rotary_dim = turning->end;
  std::vector<Value*> inputs = inner.inputs();
  inputs[0] = turning->source;
  Value* result = add_op(graph, std::move(op), std::move(inputs), inner);
  add_origins(*result->producer(), node);
  return replace(graph, node, result);
}

}  // namespace

bool recognize_rotary(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : nodes_of(graph)) {
    if (!context.allows_fusion(*node)) continue;
    if (!whole_rotation(graph, *node) && !partial_rotation(graph, *node)) continue;
    context.applied(node->name + " is rotary embedding");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
