// softmax(scale * q k^T + mask) v becomes one attention operator, wherever the scale stands (on q,
// on k, on the product), whether k comes transposed or not, with any sum of masks or Where masks,
// and with the guard that turns rows without any score (NaN) into zeros. Then a transpose behind it
// is taken in. Must run after fold_constants and before fuse_epilogue.
#include <algorithm>
#include <limits>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

struct Pattern {
  Value *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  bool k_transposed = false;  ///< k is [..., H, S].
  double scale = 1;
  bool masked_rows_zero = false;
  std::vector<Value*> masks;                   ///< Additive.
  std::vector<std::pair<Value*, bool>> keeps;  ///< Bool masks; true: kept where set.
};

/// Where(IsNaN(p), 0, p) is p with a guard.
Value* through_guard(Value* value, bool& guarded) {
  const Node* where = pointwise_producer(value, k_where);
  if (where == nullptr || !is_scalar(where->input(1), 0)) return value;
  const Node* test = pointwise_producer(where->input(0), k_is_nan);
  if (test == nullptr || test->input(0) != where->input(2)) return value;
  guarded = true;
  return where->input(2);
}

bool is_very_negative(const Value* value) {
  const auto scalar = scalar_of(value);
  return scalar.has_value() && *scalar < -1e4;
}

/// Takes a multiplication or division by a number off, into `scale`.
Value* through_scale(Value* value, double& scale) {
  while (value->producer() != nullptr) {
    const Node& node = *value->producer();
    if (is_function(node, k_mul)) {
      const int number = scalar_of(node.input(0)).has_value() ? 0 : 1;
      const auto factor = scalar_of(node.input(number));
      if (!factor.has_value()) break;
      scale *= *factor;
      value = node.input(1 - number);
    } else if (is_function(node, k_div) && scalar_of(node.input(1)).value_or(0) != 0) {
      scale /= *scalar_of(node.input(1));
      value = node.input(0);
    } else {
      break;
    }
  }
  return value;
}

/// From the softmax's input down to the matmul, collecting masks. Masks are added after scaling: a
/// scale met above a mask would scale the mask too, so that form is left alone.
Node* find_scores(Value* value, Pattern& pattern) {
  for (int steps = 0; steps < 8; ++steps) {
    Value* unscaled = through_scale(value, pattern.scale);
    const Node* node = unscaled->producer();
    if (node == nullptr) return nullptr;
    if (node->is<MatMul>()) return unscaled->producer();
    if (unscaled != value) return nullptr;
    if (is_function(*node, k_add)) {
      // The side with the scores is the one that leads to a matmul of the same shape.
      const bool first =
          node->input(0)->type.shape == value->type.shape &&
          node->input(0)->constant() == nullptr &&
          (node->input(1)->type.shape != value->type.shape || produced_by<MatMul>(node->input(0)) ||
           pointwise_producer(node->input(0), k_mul) || pointwise_producer(node->input(0), k_div));
      pattern.masks.push_back(node->input(first ? 1 : 0));
      value = node->input(first ? 0 : 1);
    } else if (is_function(*node, k_where) && is_very_negative(node->input(2))) {
      pattern.keeps.emplace_back(node->input(0), true);
      value = node->input(1);
    } else if (is_function(*node, k_where) && is_very_negative(node->input(1))) {
      pattern.keeps.emplace_back(node->input(0), false);
      value = node->input(2);
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

bool is_rank4(const Value* value) {
  return value->type.shape.size() == 4;
}

std::optional<Pattern> match(const Node& root) {
  const auto* outer = root.as<MatMul>();
  if (outer == nullptr || outer->transpose_a || outer->transpose_b) return std::nullopt;
  Pattern pattern;
  Value* weights = through_guard(root.input(0), pattern.masked_rows_zero);
  const auto* softmax = produced_by<Softmax>(weights);
  if (softmax == nullptr || softmax->log || softmax->axes.size() != 1 || !is_rank4(weights))
    return std::nullopt;
  if (softmax->axes[0] != -1 && softmax->axes[0] != 3) return std::nullopt;
  const Node* scores = find_scores(weights->producer()->input(0), pattern);
  if (scores == nullptr) return std::nullopt;
  const auto* inner = scores->as<MatMul>();
  if (inner->transpose_a) return std::nullopt;
  pattern.q = through_scale(scores->input(0), pattern.scale);
  pattern.k = through_scale(scores->input(1), pattern.scale);
  pattern.v = root.input(1);
  pattern.k_transposed = !inner->transpose_b;
  if (!is_rank4(pattern.q) || !is_rank4(pattern.k) || !is_rank4(pattern.v)) return std::nullopt;
  if (!is_real(pattern.q->type.type) || pattern.scale == 0) return std::nullopt;
  // One batch and number of heads throughout: attention does not broadcast.
  for (int axis = 0; axis < 2; ++axis)
    if (pattern.q->type.shape[axis] != pattern.k->type.shape[axis] ||
        pattern.q->type.shape[axis] != pattern.v->type.shape[axis])
      return std::nullopt;
  return pattern;
}

Value* swap_last_two(Graph& graph, Value* value, const Node& like) {
  auto transpose = std::make_unique<Transpose>();
  transpose->permutation = {0, 1, 3, 2};
  return add_op(graph, std::move(transpose), {value}, like);
}

/// All masks as one: bool when there are only bool ones, else additive.
Value* combine_masks(Graph& graph, const Pattern& pattern, const Node& like) {
  Value* keep = nullptr;
  for (const auto& [mask, kept] : pattern.keeps) {
    Value* part = kept ? mask : add_pointwise(graph, k_not, {mask}, like);
    keep = keep == nullptr ? part : add_pointwise(graph, k_and, {keep, part}, like);
  }
  Value* sum = nullptr;
  for (Value* mask : pattern.masks)
    sum = sum == nullptr ? mask : add_pointwise(graph, k_add, {sum, mask}, like);
  if (sum == nullptr || keep == nullptr) return sum == nullptr ? keep : sum;
  Value* never = graph.add_constant(Tensor::scalar_f32(-std::numeric_limits<float>::infinity()));
  never->type = {DataType::kFloat32, {}};
  if (sum->type.type != DataType::kFloat32)
    never = add_op(graph, std::make_unique<Cast>(sum->type.type), {never}, like);
  return add_pointwise(graph, k_where, {keep, sum, never}, like);
}

void replace(Graph& graph, Node& root, const Pattern& pattern) {
  auto attention = std::make_unique<Attention>();
  attention->scale = pattern.scale;
  attention->masked_rows_zero = pattern.masked_rows_zero;
  attention->out_bsnh = true;
  Value* k = pattern.k_transposed ? swap_last_two(graph, pattern.k, root) : pattern.k;
  Value* mask = combine_masks(graph, pattern, root);
  std::vector<Value*> inputs = {pattern.q, k, pattern.v};
  if (mask != nullptr) inputs.push_back(mask);
  Value* result = add_op(graph, std::move(attention), std::move(inputs), root);
  result->producer()->name = fmt::format("mha({})", root.name);
  // The kernel writes [batch, length, heads, size]: the transpose back usually cancels against one
  // that follows.
  auto back = std::make_unique<Transpose>();
  back->permutation = {0, 2, 1, 3};
  Value* swapped = add_op(graph, std::move(back), {result}, root);
  swapped->name = root.output()->name;
  graph.replace_uses(root.output(), swapped);
}

}  // namespace

bool recognize_attention(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* root : nodes) {
    if (!context.allows_fusion(*root)) continue;
    const auto pattern = match(*root);
    if (!pattern.has_value()) continue;
    replace(graph, *root, *pattern);
    context.applied(root->name + " is attention");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
