// Rotary position embedding, however it is written, becomes one operator:
//   x cos + join(-x2, x1) sin           with tables as wide as x (Llama; GPT-J where x1 and x2
//                                       alternate),
//   join(x1 cos - x2 sin, x2 cos + x1 sin)   with tables of half the width,
// and where only the first elements turn, the rest behind them. x is [B,heads,S,size], or with
// other orders of axes, with heads and batch joined, or with queries and keys on an axis of their
// own. Must run after simplify and merge_equal, before recognize_attention.
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
Value* rotated(Value* value, bool& interleaved) {
  const auto joined = halves_of(value);
  Value* second = joined.has_value() ? negated(joined->first) : nullptr;
  if (second == nullptr) return nullptr;
  const auto first_part = half_part_of(joined->second), second_part = half_part_of(second);
  if (!are_parts(first_part, second_part, joined->interleaved)) return nullptr;
  interleaved = joined->interleaved;
  return first_part->source;
}

/// x cos + rotated(x) sin.
std::optional<Rotation> wide_rotation(const Graph& graph, const Node& node) {
  if (!is_function(node, k_add)) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const Node* plain = product_node(graph, node.input(side));
    const Node* quarter = product_node(graph, node.input(1 - side));
    if (plain == nullptr || quarter == nullptr) return std::nullopt;
    for (int i = 0; i < 4; ++i) {
      Rotation r;
      r.x = rotated(quarter->input(i % 2), r.interleaved);
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
/// [B,S,heads,size] and [B,S,1,n], or [S,B,heads,size] and [S,1,1,n]. Three axes are those of one
/// head, or joined of four.
struct Form {
  Value* x = nullptr;  ///< The tensor that is rotated, or the source of its reshape.
  Shape extents;       ///< Four: of x as the operator takes it.
  bool heads_inside = false;
  Shape table;     ///< Of the tables as the operator takes them.
  Shape expanded;  ///< Of the tables, repeated over some axes, before; empty where they are not.
};

/// Without the last axis of both: of four axes.
std::optional<Form> form_of_axes(const Shape& x, const Shape& t, const Dim& half) {
  Form form;
  form.extents = x;
  if (t[1] == Dim(1) && t[2] == x[2]) {
    form.table = {t[2], half};
  } else if (t[2] == Dim(1) && t[1] == x[1]) {
    form.heads_inside = true;
    form.table = {t[1], half};
  } else if (t[1] == Dim(1) && t[2] == Dim(1) && t[0] == x[0]) {
    form.heads_inside = true;
    form.expanded = {x[0], x[1], half};
    form.table = {x[1], half};
  } else {
    return std::nullopt;
  }
  const bool shared = t[0] == Dim(1);
  if (!shared && !(t[0] == x[0])) return std::nullopt;
  if (form.heads_inside && !x[2].is_constant()) return std::nullopt;
  if (!shared) form.table.insert(form.table.begin(), t[0]);
  return form;
}

/// The value with four axes of which x joins some that the tables do not have, and the tables'
/// extents with as many; `t` is that of three.
Value* before_joining(const Rotation& r, Shape& t) {
  Value* x = r.x;
  if (x->type.shape.size() != 3 || !is_reshape(x->producer())) return nullptr;
  Value* parted = x->producer()->input(0);
  const auto groups = joined_axes(parted->type.shape, x->type.shape);
  if (parted->type.shape.size() != 4 || !groups.has_value() || groups->size() != 3) return nullptr;
  Shape spread;
  for (size_t i = 0; i < groups->size(); ++i) {
    const size_t count = (*groups)[i].size();
    if (count == 0 || (count > 1 && !(t[i] == Dim(1)))) return nullptr;
    spread.push_back(t[i]);
    spread.insert(spread.end(), count - 1, Dim(1));
  }
  t = spread;
  return parted;
}

std::optional<Form> form_of(const Rotation& r) {
  Shape x = r.x->type.shape, t = r.cos->type.shape;
  if (x.size() < 3 || x.size() > 4 || t.empty() || t.size() > x.size() ||
      r.sin->type != r.cos->type)
    return std::nullopt;
  if (r.cos->type.type != r.x->type.type || !is_real(r.x->type.type)) return std::nullopt;
  t.insert(t.begin(), x.size() - t.size(), Dim(1));
  if (!x.back().is_constant() || !t.back().is_constant() || x.back().constant() % 2 != 0)
    return std::nullopt;
  const int64_t half = x.back().constant() / 2;
  if (t.back().constant() != (r.wide ? 2 * half : half)) return std::nullopt;
  Value* operand = r.x;
  if (Value* parted = before_joining(r, t)) {
    operand = parted;
    x = parted->type.shape;
  } else if (x.size() == 3) {
    x.insert(x.begin() + 1, Dim(1));
    t.insert(t.begin() + 1, Dim(1));
  }
  auto form = form_of_axes(x, t, Dim(half));
  if (form.has_value()) form->x = operand;
  return form;
}

bool tables_repeat(const Rotation& r) {
  return !r.wide || (unrepeated(nullptr, r.cos, r.interleaved) != nullptr &&
                     unrepeated(nullptr, r.sin, r.interleaved) != nullptr);
}

Value* table(Graph& graph, Value* value, const Rotation& r, const Form& form, const Node& like) {
  if (r.wide) value = unrepeated(&graph, value, r.interleaved);
  if (!form.expanded.empty()) {
    const Shape narrow = {form.expanded[0], Dim(1), form.expanded[2]};
    if (value->type.shape != narrow) value = add_reshape(graph, value, narrow, like);
    value =
        add_op(graph, std::make_unique<Expand>(), {value, add_shape(graph, form.expanded)}, like);
  }
  return value->type.shape == form.table ? value : add_reshape(graph, value, form.table, like);
}

Value* rotate(Graph& graph, const Rotation& r, const Form& form, const Node& like) {
  auto op = std::make_unique<RotaryEmbedding>();
  op->interleaved = r.interleaved;
  const Shape& x = form.extents;
  Value* operand = form.x;
  if (form.heads_inside) {
    op->heads = x[2].constant();
    operand = add_reshape(graph, operand, {x[0], x[1], x[2] * x[3]}, like);
  } else if (operand->type.shape != x) {
    operand = add_reshape(graph, operand, x, like);
  }
  Value* result = add_op(
      graph, std::move(op),
      {operand, table(graph, r.cos, r, form, like), table(graph, r.sin, r, form, like)}, like);
  result->producer()->name = fmt::format("rotary({})", like.name);
  const Shape& wanted = r.x->type.shape;
  return result->type.shape == wanted ? result : add_reshape(graph, result, wanted, like);
}

bool replace(Graph& graph, Node& node, Value* result) {
  stand_in(graph, node, result);
  return true;
}

/// The place that a node picks of the first axis of its operand, whose axis it drops or keeps with
/// extent 1; nothing for others.
std::optional<int64_t> picked_of_first(const Node& node) {
  const auto is_first = [&](int64_t axis) {
    return axis == 0 || axis == -static_cast<int64_t>(node.input(0)->type.shape.size());
  };
  const Shape& shape = node.input(0)->type.shape;
  if (const auto* gather = node.as<Gather>()) {
    const Tensor* index = node.input(1)->constant();
    if (index == nullptr || index->count() != 1 || !is_first(gather->axis)) return std::nullopt;
    const int64_t at = index->as_int64(0);
    return at < 0 ? at + shape[0].constant() : at;
  }
  if (!node.is<Slice>() || node.output()->type.shape[0] != Dim(1)) return std::nullopt;
  for (int i = 1; i < 4; ++i)
    if (!node.has_input(i) || node.input(i)->constant() == nullptr ||
        node.input(i)->constant()->count() != 1)
      return std::nullopt;
  if (!is_first(node.input(3)->constant()->as_int64(0))) return std::nullopt;
  const int64_t at = node.input(1)->constant()->as_int64(0);
  return at < 0 ? at + shape[0].constant() : at;
}

/// Queries and keys that turn as one tensor [2,B,heads,S,size], of which each is picked behind:
/// each turns by itself, where it lies.
bool picked_rotation(Graph& graph, Node& node, const Rotation& r) {
  const Shape &x = r.x->type.shape, &t = r.cos->type.shape;
  if (x.size() != 5 || !x[0].is_constant() || t.size() > 5 || graph.is_output(node.output()))
    return false;
  if (t.size() == 5 && !(t[0] == Dim(1))) return false;
  const std::vector<Use> uses(node.output()->uses().begin(), node.output()->uses().end());
  for (const Use& use : uses)
    if (use.index != 0 || !picked_of_first(*use.node).has_value()) return false;
  const Shape inner(x.begin() + 1, x.end());
  const auto without_first = [&](Value* table) {
    return table->type.shape.size() < 5
               ? table
               : add_reshape(graph, table, Shape(t.begin() + 1, t.end()), node);
  };
  Rotation part = r;
  // The whole has the type and the extents but the first of its parts.
  part.cos = without_first(r.cos);
  part.sin = r.sin == r.cos ? part.cos : without_first(r.sin);
  for (const Use& use : uses) {
    const int64_t at = *picked_of_first(*use.node);
    Value* slice = add_op(
        graph, std::make_unique<Slice>(),
        {r.x, add_integers(graph, {at}), add_integers(graph, {at + 1}), add_integers(graph, {0})},
        node);
    part.x = add_reshape(graph, slice, inner, node);
    const auto form = form_of(part);
    if (!form.has_value() || !tables_repeat(part)) return false;
    Value* result = rotate(graph, part, *form, node);
    const Shape& wanted = use.node->output()->type.shape;
    if (result->type.shape != wanted) result = add_reshape(graph, result, wanted, node);
    stand_in(graph, *use.node, result);
  }
  return true;
}

bool whole_rotation(Graph& graph, Node& node) {
  if (node.outputs().size() != 1) return false;
  auto rotation = wide_rotation(graph, node);
  if (!rotation.has_value() && (node.is<Concat>() || is_reshape(&node)))
    rotation = narrow_rotation(graph, node);
  if (!rotation.has_value()) return false;
  if (picked_rotation(graph, node, *rotation)) return true;
  const auto form = form_of(*rotation);
  if (!form.has_value() || !tables_repeat(*rotation)) return false;
  // A reshape behind pairs may have joined other axes as well.
  const Shape wanted = node.output()->type.shape;
  return replace(graph, node, reshaped(graph, rotate(graph, *rotation, *form, node), wanted, node));
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
  return for_each_fusible(graph, context, [&](Node& node) {
    return (whole_rotation(graph, node) || partial_rotation(graph, node)) &&
           context.applied(node.name + " is rotary embedding");
  });
}

}  // namespace tenon
