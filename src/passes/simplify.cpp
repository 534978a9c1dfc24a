// Operators that change nothing are dropped, chains of data movement merged: identity, cast to the
// same type, reshape, expand or resize to the same shape, sums with 0, products with 1,
// conjunctions with true, choices by a constant, choices by a NaN test of integers, transposes of
// transposes, reshapes of reshapes, casts behind casts to wider types, activations applied twice,
// parts of a split joined again. Nodes with two spellings get one: x - constant is a sum, axes of a
// reduction that are an operand are its attribute, weights of a product are a matrix without axes
// of 1 in front.
#include <algorithm>
#include <cmath>

#include "ops/fill_value.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

bool same_type(const Node& node) {
  return node.input(0)->type.type == node.output()->type.type &&
         node.input(0)->type.shape == node.output()->type.shape;
}

bool is_identity_permutation(const std::vector<int64_t>& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  return !permutation.empty();
}

bool all_zero(const Value* value) {
  if (value == nullptr) return true;
  return value->constant() != nullptr && is_scalar(value, 0) && *scalar_of(value) == 0;
}

/// The one number in a constant, a fill, or a number times a fill.
std::optional<double> filled_with(const Value* value) {
  if (const auto number = scalar_of(value)) return number;
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  if (const auto* fill = node->as<Fill>()) return fill_value(*fill).as_double(0);
  if (node->is<Expand>()) return scalar_of(node->input(0));
  if (!is_function(*node, k_mul)) return std::nullopt;
  const auto a = filled_with(node->input(0)), b = filled_with(node->input(1));
  return a.has_value() && b.has_value() ? std::optional(*a * *b) : std::nullopt;
}

bool has_zero_unit(PointwiseFunction function) {
  return function == k_add || function == k_sub || function == k_or;
}

/// Of two operands, whether the result has the one's shape, or repeats it along axes where the
/// other is a constant with more elements.
bool keeps_elements(const Node& node, const Value& kept, const Value& other) {
  if (kept.type.type != node.output()->type.type) return false;
  if (kept.type.shape == node.output()->type.shape) return true;
  if (other.constant() == nullptr) return false;
  const Shape &own = kept.type.shape, &others = other.type.shape;
  for (size_t i = 1; i <= std::min(own.size(), others.size()); ++i) {
    const Dim &a = own[own.size() - i], &b = others[others.size() - i];
    if (!(a == b) && !(a == Dim(1)) && !(b == Dim(1))) return false;
  }
  return true;
}

/// x + 0, x - 0, x * 1, x / 1, x ^ 1, x and true, x or false.
Value* neutral(const Node& node) {
  const auto* pointwise = node.as<Pointwise>();
  if (pointwise == nullptr || node.inputs().size() != 2) return nullptr;
  const bool commutes = pointwise->function == k_add || pointwise->function == k_mul ||
                        pointwise->function == k_and || pointwise->function == k_or;
  const bool one_sided =
      pointwise->function == k_sub || pointwise->function == k_div || pointwise->function == k_pow;
  for (int i = 0; i < (one_sided ? 1 : commutes ? 2 : 0); ++i) {
    Value* kept = node.input(i);
    const auto scalar = filled_with(node.input(1 - i));
    const double unit = has_zero_unit(pointwise->function) ? 0 : 1;
    if (scalar == unit && keeps_elements(node, *kept, *node.input(1 - i))) return kept;
  }
  return nullptr;
}

/// is_nan() of dequantized integers, which are numbers.
bool is_never_true(const Value* condition) {
  const Node* test = pointwise_producer(condition, k_is_nan);
  if (test == nullptr || produced_by<Dequantize>(test->input(0)) == nullptr) return false;
  const Node& node = *test->input(0)->producer();
  return is_per_tensor(node) && is_integer(quantized_type(node)) &&
         std::isfinite(node.input(1)->constant()->as_double(0));
}

/// where(true, x, y) in x's own shape, or where(false, x, y) in y's.
Value* only_choice(const Node& node) {
  if (!is_function(node, k_where)) return nullptr;
  auto condition = scalar_of(node.input(0));
  if (!condition.has_value() && is_never_true(node.input(0))) condition = 0;
  if (!condition.has_value()) return nullptr;
  Value* kept = node.input(*condition != 0 ? 1 : 2);
  return kept->type == node.output()->type ? kept : nullptr;
}

/// Each element of the result is the one at its own place: to the same extents by a scale of 1.
bool resizes_nothing(const Node& node) {
  const auto* resize = node.as<Resize>();
  if (resize == nullptr || !same_type(node)) return false;
  if (resize->aspect != AspectPolicy::kStretch ||
      resize->coordinates == CoordinateMode::kTfCropAndResize)
    return false;
  return !node.has_input(2) || scalar_of(node.input(2)) == 1;
}

/// A value that the node's output equals, or null.
Value* same_as(const Node& node) {
  Value* x = node.input(0);
  if (x == nullptr || node.outputs().size() != 1) return nullptr;
  if (node.is<Identity>()) return x;
  if (node.is<Cast>() || node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() ||
      node.is<Unsqueeze>() || node.is<Expand>() || node.is<Tile>() || node.is<Slice>() ||
      node.is<Split>() || node.is<CenterCropPad>()) {
    const bool whole = !node.is<Slice>() || !node.has_input(4) || is_scalar(node.input(4), 1);
    return whole && same_type(node) ? x : nullptr;
  }
  if (const auto* transpose = node.as<Transpose>())
    return is_identity_permutation(transpose->permutation) ? x : nullptr;
  if (node.is<Concat>()) return node.inputs().size() == 1 ? x : nullptr;
  if (node.is<Pad>()) return all_zero(node.input(1)) ? x : nullptr;
  if (resizes_nothing(node)) return x;
  if (is_function(node, k_relu) && pointwise_producer(x, k_relu) != nullptr) return x;
  Value* chosen = only_choice(node);
  if (chosen != nullptr) return chosen;
  Value* kept = neutral(node);
  return kept != nullptr && kept->type == node.output()->type ? kept : nullptr;
}

/// An operand that is only repeated: masks of positions that all count.
bool neutral_as_expand(Graph& graph, Node& node) {
  Value* kept = neutral(node);
  if (kept == nullptr || kept->type == node.output()->type) return false;
  Value* shape = add_shape(graph, node.output()->type.shape);
  stand_in(graph, node, add_op(graph, std::make_unique<Expand>(), {kept, shape}, node));
  return true;
}

/// The shape of a reshape has neither 0 (an extent of its input) nor -1, so that its input does not
/// matter.
bool keeps_no_extent(const Node& node) {
  const auto& elements = node.input(1)->elements;
  const Tensor* shape = node.input(1)->constant();
  if (shape != nullptr) {
    const std::vector<int64_t> extents = shape->to_int64s();
    return std::count(extents.begin(), extents.end(), 0) == 0 &&
           std::count(extents.begin(), extents.end(), -1) == 0;
  }
  return elements.has_value() && node.input(1)->producer() != nullptr &&
         node.input(1)->producer()->is<Dims>() &&
         std::none_of(elements->begin(), elements->end(),
                      [](const Dim& dim) { return dim == Dim(0) || dim == Dim(-1); });
}

/// Gives a reshape extents instead of 0 and -1, so that it can read something else.
void spell_extents(Graph& graph, Node& node) {
  node.set_input(1, add_shape(graph, node.output()->type.shape));
  node.as<Reshape>()->allow_zero = true;
}

/// The cast keeps every number.
bool widens(const Node& node) {
  const DataType from = node.input(0)->type.type, to = node.output()->type.type;
  const bool from_16 = is_half(from);
  return (from_16 && (to == DataType::kFloat32 || to == DataType::kFloat64)) ||
         (from == DataType::kFloat32 && to == DataType::kFloat64) ||
         (from == DataType::kInt32 && to == DataType::kInt64);
}

/// transpose(transpose(x)), reshape(reshape(x)) and cast(wider(x)) read x directly.
bool merge_with_producer(Graph& graph, Node& node) {
  Node* before = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
  if (before == nullptr) return false;
  auto* outer = node.as<Transpose>();
  const auto* inner = before->as<Transpose>();
  if (outer != nullptr && inner != nullptr && !outer->permutation.empty() &&
      !inner->permutation.empty()) {
    std::vector<int64_t> merged;
    for (const int64_t axis : outer->permutation) merged.push_back(inner->permutation[axis]);
    outer->permutation = std::move(merged);
  } else if (node.is<Reshape>() && is_reshape(before)) {
    if (!keeps_no_extent(node)) spell_extents(graph, node);
  } else if (!node.is<Cast>() || !before->is<Cast>() || !widens(*before)) {
    return false;
  }
  node.set_input(0, before->input(0));
  add_origins(node, *before);
  return true;
}

/// x - c as x + -c, which more rules look for.
bool difference_as_sum(Graph& graph, Node& node) {
  if (!is_function(node, k_sub) || !is_real(node.output()->type.type)) return false;
  const Tensor* constant = node.input(1)->constant();
  if (constant == nullptr || node.input(0)->constant() != nullptr) return false;
  Tensor negated(constant->type(), constant->extents());
  for (int64_t i = 0; i < negated.count(); ++i) negated.set_from_double(i, -constant->as_double(i));
  Value* value = graph.add_constant(std::move(negated));
  value->type = node.input(1)->type;
  node.as<Pointwise>()->function = k_add;
  node.set_input(1, value);
  return true;
}

bool axes_as_attribute(Node& node) {
  auto* reduce = node.as<Reduce>();
  const Tensor* axes = node.has_input(1) ? node.input(1)->constant() : nullptr;
  if (reduce == nullptr || axes == nullptr || axes->count() == 0) return false;
  reduce->axes = axes->to_int64s();
  node.truncate_inputs(1);
  return true;
}

/// The network API wants operands of equal rank, so that matrices come with axes of 1 in front.
bool weights_as_matrix(Graph& graph, Node& node) {
  const Tensor* weights = node.is<MatMul>() ? node.input(1)->constant() : nullptr;
  if (weights == nullptr || weights->rank() <= 2) return false;
  const Extents& extents = weights->extents();
  const bool is_one =
      std::all_of(extents.begin(), extents.end() - 2, [](int64_t extent) { return extent == 1; });
  if (!is_one || static_cast<int64_t>(node.input(0)->type.shape.size()) < weights->rank())
    return false;
  const Extents matrix(extents.end() - 2, extents.end());
  Value* value = graph.add_constant(weights->reshaped(matrix));
  value->type = {node.input(1)->type.type, to_shape(matrix)};
  node.set_input(1, value);
  return true;
}

/// Whether the inputs of the concat from `first` on are the parts of a split, all of them in order,
/// along the same axis.
bool are_parts_of(const Node& concat, size_t first, const Node& split) {
  const auto rank = static_cast<int64_t>(split.input(0)->type.shape.size());
  const auto positive = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const auto& parts = split.outputs();
  return positive(split.as<Split>()->axis) == positive(concat.as<Concat>()->axis) &&
         first + parts.size() <= concat.inputs().size() &&
         std::equal(parts.begin(), parts.end(),
                    concat.inputs().begin() + static_cast<std::ptrdiff_t>(first));
}

/// Parts of a split that a concat puts together again are the split's input.
bool join_parts(Node& node) {
  if (!node.is<Concat>()) return false;
  std::vector<Value*> joined;
  for (size_t i = 0; i < node.inputs().size();) {
    Node* before = node.input(static_cast<int>(i))->producer();
    const bool joins = before != nullptr && before->is<Split>() && are_parts_of(node, i, *before);
    joined.push_back(joins ? before->input(0) : node.inputs()[i]);
    i += joins ? before->outputs().size() : 1;
  }
  if (joined.size() == node.inputs().size()) return false;
  for (size_t i = 0; i < joined.size(); ++i) node.set_input(static_cast<int>(i), joined[i]);
  node.truncate_inputs(static_cast<int>(joined.size()));
  return true;
}

/// Pooling whose one window is the whole image is a mean or a maximum: one spelling for both.
bool whole_pool_as_reduction(Graph& graph, Node& node) {
  const auto* pool = node.as<Pool>();
  if (pool == nullptr || node.outputs().size() != 1) return false;
  const bool mean = pool->function == PoolFunction::kAverage;
  if (!mean && pool->function != PoolFunction::kMax) return false;
  const auto all = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
  };
  if (!all(pool->pads_begin, 0) || !all(pool->pads_end, 0) || !all(pool->dilations, 1))
    return false;
  const Shape& from = node.input(0)->type.shape;
  auto reduce = std::make_unique<Reduce>();
  reduce->function = mean ? ReduceFunction::kMean : ReduceFunction::kMax;
  for (size_t i = 2; i < from.size(); ++i) {
    if (pool->kernel.size() + 2 != from.size() || !(from[i] == Dim(pool->kernel[i - 2])) ||
        !(node.output()->type.shape[i] == Dim(1)))
      return false;
    reduce->axes.push_back(static_cast<int64_t>(i));
  }
  if (reduce->axes.empty()) return false;
  Value* result = add_op(graph, std::move(reduce), {node.input(0)}, node);
  stand_in(graph, node, result);
  return true;
}

/// A recurrence without initial states begins with 0, so states of 0 are dropped.
bool drop_zero_states(Node& node) {
  constexpr int kFirstState = 5, kLastState = 6;
  if (!node.is<Rnn>()) return false;
  bool changed = false;
  for (int i = kFirstState; i <= kLastState; ++i) {
    if (!node.has_input(i) || filled_with(node.input(i)) != 0.0) continue;
    node.set_input(i, nullptr);
    changed = true;
  }
  return changed;
}

}  // namespace

bool simplify(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : nodes_of(graph)) {
    if (!context.allows(*node)) continue;
    while (merge_with_producer(graph, *node)) changed = true;
    if (whole_pool_as_reduction(graph, *node) || neutral_as_expand(graph, *node)) {
      changed = true;
      continue;
    }
    changed |= difference_as_sum(graph, *node) || axes_as_attribute(*node) ||
               drop_zero_states(*node) || join_parts(*node) || weights_as_matrix(graph, *node);
    Value* same = same_as(*node);
    if (same == nullptr) continue;
    // A graph output keeps its name; an input that is an output keeps its identity node.
    if (graph.is_output(node->output())) {
      if (same->producer() == nullptr || graph.is_output(same) || same->constant() != nullptr)
        continue;
      same->name = node->output()->name;
    }
    if (same->producer() != nullptr) add_origins(*same->producer(), *node);
    graph.replace_uses(node->output(), same);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
