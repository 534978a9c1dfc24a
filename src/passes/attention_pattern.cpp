#include "passes/attention_pattern.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include "passes/quantized.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

constexpr int kMaxSteps = 16;

/// Where(IsNaN(p), 0, p) is p with a guard.
Value* through_guard(Value* value, bool& guarded) {
  const Node* where = pointwise_producer(value, k_where);
  if (where == nullptr || !is_scalar(where->input(1), 0)) return value;
  const Node* test = pointwise_producer(where->input(0), k_is_nan);
  if (test == nullptr || test->input(0) != where->input(2)) return value;
  guarded = true;
  return where->input(2);
}

Shape level_of(const Value* value) {
  return {value->type.shape.begin(), value->type.shape.end() - 2};
}

/// A reshape of the axes before the last two.
bool keeps_matrices(const Node& node) {
  if (!is_reshape(&node)) return false;
  const Shape &from = node.input(0)->type.shape, &to = node.output()->type.shape;
  return from.size() >= 3 && to.size() >= 3 && std::equal(from.end() - 2, from.end(), to.end() - 2);
}

bool is_real_cast(const Node& node) {
  return node.is<Cast>() && is_real(node.input(0)->type.type) && is_real(node.output()->type.type);
}

/// Quantization to byte integers and back: a quotient, rounded, clamped, times the scale.
std::vector<ScalarStep> rounding_steps(const Node& quantize) {
  const double scale = quantize.input(1)->constant()->as_double(0);
  const double least = quantized_type(quantize) == DataType::kInt8 ? -128 : 0;
  const auto zero = static_cast<double>(zero_point_of(quantize));
  return {{k_div, 0, 0, scale},
          {k_round},
          {k_clip, least - zero, least + 255 - zero},
          {k_mul, 0, 0, scale}};
}

/// From the softmax's operand down to the product of q and k.
class ScoreWalk {
 public:
  ScoreWalk(const Graph& graph, AttentionPattern pattern)
      : graph_(graph), pattern_(std::move(pattern)) {}

  /// The product, or null. Fills pattern().
  const Node* walk(Value* value, int depth = 0) {
    const Node* node = value->producer();
    if (node == nullptr || depth > kMaxSteps || only_user(graph_, value) == nullptr) return nullptr;
    // A softmax of vectors is none of scores.
    if (value->type.shape.size() < 2) return nullptr;
    if (node->is<MatMul>()) return node;
    note_heads(value);
    if (is_real_cast(*node) || keeps_matrices(*node)) return walk(node->input(0), depth + 1);
    if (Value* uncapped = through_cap(*node)) return walk(uncapped, depth + 1);
    double factor = 1;
    if (Value* unscaled = without_factor(value, factor); unscaled != value) {
      pattern_.scale *= factor;
      scaled_ = true;
      return walk(unscaled, depth + 1);
    }
    if (Value* unscaled = through_factors(*node)) return walk(unscaled, depth + 1);
    // A mask below a scale would be scaled too.
    if (!scaled_) {
      if (Value* unmasked = through_factor(*node)) return walk(unmasked, depth + 1);
      if (const Node* product = is_function(*node, k_add) ? walk_sum(*node, depth) : nullptr)
        return product;
    }
    if (is_function(*node, k_where)) return walk_where(*node, depth);
    Value* inner = through_step(*node);
    if (inner == nullptr) inner = through_rounded_scores(*node);
    if (inner != nullptr) return walk(inner, depth + 1);
    return is_function(*node, k_add) && steps_join_masks(value) ? walk_sum(*node, depth) : nullptr;
  }
  AttentionPattern& pattern() { return pattern_; }

 private:
  void note_heads(const Value* value) {
    if (value->type.shape.size() == 4) pattern_.heads = level_of(value);
  }

  /// cap * tanh(scores / cap): the scores, whose scale takes the quotient.
  Value* through_cap(const Node& node) {
    if (scaled_ || pattern_.soft_cap != 0 || !pattern_.steps.empty() || !is_function(node, k_mul))
      return nullptr;
    const int number = scalar_of(node.input(0)).has_value() ? 0 : 1;
    const auto cap = scalar_of(node.input(number));
    const Node* tanh = pointwise_producer(node.input(1 - number), k_tanh);
    if (tanh == nullptr || cap.value_or(0) <= 0 || only_user(graph_, tanh->output()) == nullptr)
      return nullptr;
    pattern_.soft_cap = *cap;
    pattern_.scale *= *cap;
    scaled_ = true;
    return tanh->input(0);
  }

  /// Whether steps may stand below the part found so far; a scale above them becomes one of them.
  bool may_step(const Value* scores) {
    const DataType type = scores->type.type;
    const bool computed = type == DataType::kFloat32 || is_half(type);
    if (!computed || pattern_.soft_cap != 0 || !pattern_.factors.empty()) return false;
    if (pattern_.scale != 1) add_step({k_mul, 0, 0, pattern_.scale});
    pattern_.scale = 1;
    scaled_ = true;
    return true;
  }
  /// Functions found so far stand behind the masks that come now.
  bool steps_join_masks(const Value* sum) {
    if (pattern_.steps.empty()) return false;
    if (!pattern_.masks.empty() || !pattern_.masked_steps.empty() || !may_step(sum)) return false;
    pattern_.masked_steps = std::exchange(pattern_.steps, {});
    scaled_ = false;
    return true;
  }
  void add_step(ScalarStep step) { pattern_.steps.insert(pattern_.steps.begin(), step); }

  /// A scalar function of the scores alone: the scores.
  Value* through_step(const Node& node) {
    const auto* pointwise = node.as<Pointwise>();
    if (pointwise == nullptr || !can_be_step(pointwise->function)) return nullptr;
    ScalarStep step{pointwise->function, pointwise->alpha, pointwise->beta};
    int scores = 0;
    if (step.has_number()) {
      step.number_first = scalar_of(node.input(0)).has_value();
      scores = step.number_first ? 1 : 0;
      const auto number = scalar_of(node.input(1 - scores));
      if (!number.has_value()) return nullptr;
      step.number = *number;
    }
    if (node.input(scores)->type != node.output()->type || !may_step(node.output())) return nullptr;
    add_step(step);
    return node.input(scores);
  }

  /// Quantization and its reverse, whose integers nothing else reads.
  Value* through_rounded_scores(const Node& dequantize) {
    if (!dequantize.is<Dequantize>() || !is_per_tensor(dequantize)) return nullptr;
    const Node* quantize = dequantize.input(0)->producer();
    const bool pair = quantize != nullptr && quantize->is<Quantize>() &&
                      is_byte_integer(quantized_type(*quantize)) &&
                      same_scaling(*quantize, dequantize) &&
                      only_user(graph_, quantize->output()) != nullptr;
    if (!pair || !may_step(dequantize.output())) return nullptr;
    for (const ScalarStep& step : rounding_steps(*quantize) | std::views::reverse) add_step(step);
    return quantize->input(0);
  }

  /// scores * f or scores / f, where f has one number for all keys: the scores, whose q takes f.
  Value* through_factors(const Node& node) {
    const bool divides = is_function(node, k_div);
    if (!divides && !is_function(node, k_mul)) return nullptr;
    for (int side = 0; side < (divides ? 1 : 2); ++side) {
      Value *scores = node.input(side), *factor = node.input(1 - side);
      const Shape& by = factor->type.shape;
      const bool same_for_keys = by.empty() || by.back() == Dim(1);
      if (!same_for_keys || scores->type.shape != node.output()->type.shape) continue;
      pattern_.factors.push_back({factor, divides, level_of(scores)});
      scaled_ = true;
      return scores;
    }
    return nullptr;
  }

  /// scores * b + c, where b is 0 exactly where c drops the score: c alone does.
  Value* through_factor(const Node& node) const {
    const bool hides = pattern_.masked_steps.empty() && !pattern_.masks.empty();
    if (!is_function(node, k_mul) || !hides) return nullptr;
    const ScoreMask& mask = pattern_.masks.back();
    const Tensor* term = mask.kind == ScoreMask::kAdded ? mask.value->constant() : nullptr;
    for (int side = 0; side < 2 && term != nullptr; ++side) {
      const Tensor* factor = node.input(1 - side)->constant();
      if (factor == nullptr || factor->extents() != term->extents() ||
          node.input(side)->type != node.output()->type)
        continue;
      bool fits = true;
      for (int64_t i = 0; i < term->count() && fits; ++i)
        fits = factor->as_double(i) == 1
                   ? term->as_double(i) == 0
                   : factor->as_double(i) == 0 && term->as_double(i) <= kVeryNegative;
      if (fits) return node.input(side);
    }
    return nullptr;
  }

  /// Goes on with one side, the other being a mask; takes it back where that leads nowhere.
  const Node* try_side(const Node& node, int side, ScoreMask mask, int depth) {
    if (node.input(side)->type.shape != node.output()->type.shape) return nullptr;
    // Functions of what a mask hides show it again.
    if (mask.kind != ScoreMask::kAdded && !pattern_.masked_steps.empty()) return nullptr;
    const AttentionPattern before = pattern_;
    const bool scaled = scaled_;
    mask.level = level_of(node.output());
    pattern_.masks.push_back(std::move(mask));
    if (const Node* product = walk(node.input(side), depth + 1)) return product;
    pattern_ = before;
    scaled_ = scaled;
    return nullptr;
  }

  /// A term of a sum; where(keep, 0, -infinity) is made of its condition.
  ScoreMask added(Value* value) const {
    const double never = -std::numeric_limits<double>::infinity();
    const Node* where = pointwise_producer(value, k_where);
    if (where != nullptr && pattern_.masked_steps.empty())
      for (int side = 1; side <= 2; ++side)
        if (scalar_of(where->input(side)) == 0.0 && scalar_of(where->input(3 - side)) == never)
          return {side == 1 ? ScoreMask::kKept : ScoreMask::kDropped, where->input(0), never, {}};
    return {ScoreMask::kAdded, value, 0, {}};
  }

  const Node* walk_sum(const Node& node, int depth) {
    for (int side = 0; side < 2; ++side)
      if (const Node* product = try_side(node, side, added(node.input(1 - side)), depth))
        return product;
    return nullptr;
  }

  /// The number that scale and steps found so far make of one.
  std::optional<double> behind_steps(std::optional<double> number) const {
    if (!number.has_value() || pattern_.soft_cap != 0 || !pattern_.factors.empty())
      return std::nullopt;
    for (const ScalarStep& step : pattern_.steps) apply_scalar_step(step, &*number, 1);
    return *number * pattern_.scale;
  }

  /// Functions of a choice are the choice of functions: those found so far stand below the mask.
  const Node* walk_where(const Node& node, int depth) {
    for (int side = 1; side <= 2; ++side) {
      const auto fill = behind_steps(scalar_of(node.input(3 - side)));
      if (!fill.has_value() || !(*fill <= kVeryNegative)) continue;
      const ScoreMask::Kind kind = side == 1 ? ScoreMask::kKept : ScoreMask::kDropped;
      if (const Node* product = try_side(node, side, {kind, node.input(0), *fill, {}}, depth))
        return product;
    }
    return nullptr;
  }

  const Graph& graph_;
  AttentionPattern pattern_;
  bool scaled_ = false;
};

bool over_last_axis(const Softmax& softmax, size_t rank) {
  return !softmax.log && softmax.axes.size() == 1 &&
         (softmax.axes[0] == -1 || softmax.axes[0] == static_cast<int64_t>(rank) - 1);
}

bool is_rounding(const Node& node) {
  const DataType type = quantized_type(node);
  if (!is_per_tensor(node)) return false;
  if (type == DataType::kFloat8E4M3 || type == DataType::kFloat8E5M2)
    return zero_point_of(node) == 0 && (!node.is<Quantize>() || node.as<Quantize>()->saturate);
  return is_byte_integer(type);
}

/// Softmax gives nothing below 0, so that the zero point only takes from the largest number.
int64_t largest_level(const Node& quantize) {
  if (quantized_type(quantize) == DataType::kFloat8E4M3) return 448;
  if (quantized_type(quantize) == DataType::kFloat8E5M2) return 57344;
  return (quantized_type(quantize) == DataType::kInt8 ? 127 : 255) - zero_point_of(quantize);
}

/// Takes a Dequantize, then the Quantize before it, off the weights. Ahead of the one pair there
/// may be others, of integers.
bool through_rounding(const Node& node, const Node*& dequantize, AttentionPattern& pattern) {
  if (!is_rounding(node)) return false;
  if (node.is<Dequantize>()) {
    if (dequantize != nullptr) return false;
    dequantize = &node;
    return true;
  }
  if (dequantize == nullptr || !same_scaling(node, *dequantize)) return false;
  dequantize = nullptr;
  if (pattern.weights_step != 0) {
    if (!is_byte_integer(quantized_type(node))) return false;
    const std::vector<ScalarStep> steps = rounding_steps(node);
    pattern.weight_steps.insert(pattern.weight_steps.begin(), steps.begin(), steps.end());
    return true;
  }
  pattern.weights_step = node.input(1)->constant()->as_double(0);
  pattern.weights_limit = largest_level(node);
  if (!is_byte_integer(quantized_type(node))) pattern.weights_type = quantized_type(node);
  return pattern.weights_step > 0;
}

/// The softmax whose result `value` is, behind a guard, conversions, reshapes and rounding; or
/// null.
const Node* find_softmax(const Graph& graph, Value* value, AttentionPattern& pattern) {
  const Node* dequantize = nullptr;
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    value = through_guard(value, pattern.masked_rows_zero);
    const Node* node = value->producer();
    if (node == nullptr) return nullptr;
    if (!pattern.masked_rows_zero && only_user(graph, value) == nullptr) return nullptr;
    if (value->type.shape.size() == 4) pattern.heads = level_of(value);
    if (const auto* softmax = node->as<Softmax>()) {
      return dequantize == nullptr && over_last_axis(*softmax, value->type.shape.size()) ? node
                                                                                         : nullptr;
    }
    const bool rounds = (node->is<Quantize>() || node->is<Dequantize>()) &&
                        through_rounding(*node, dequantize, pattern);
    if (!rounds && !is_real_cast(*node) && !keeps_matrices(*node)) return nullptr;
    value = node->input(0);
  }
  return nullptr;
}

/// Ranks and heads of q, k and v fit together.
bool operands_fit(AttentionPattern& p) {
  const size_t rank = p.q->type.shape.size();
  const Shape &q = p.q->type.shape, &k = p.k->type.shape, &v = p.v->type.shape;
  if (rank < 3 || k.size() != rank || v.size() != rank) return false;
  if (!is_real(p.q->type.type) || p.k->type.type != p.q->type.type ||
      p.v->type.type != p.q->type.type)
    return false;
  for (const ScoreFactor& factor : p.factors)
    if (factor.level != level_of(p.q)) return false;
  if (!(q[0] == k[0]) || !(q[0] == v[0])) return false;
  if (rank > 3) p.heads = {};
  if (rank == 4) return k[1] == v[1] && (k[1] == q[1] || k[1] == Dim(1));
  if (rank > 4) return level_of(p.k) == level_of(p.q) && level_of(p.v) == level_of(p.q);
  if (p.heads.empty()) p.heads = {Dim(1), q[0]};
  return p.heads[0] * p.heads[1] == q[0];
}

}  // namespace

namespace {

bool swaps_last_two(const Transpose& transpose) {
  const std::vector<int64_t>& axes = transpose.permutation;
  const int64_t rank = static_cast<int64_t>(axes.size());
  if (rank < 2 || axes[rank - 1] != rank - 2 || axes[rank - 2] != rank - 1) return false;
  for (int64_t i = 0; i + 2 < rank; ++i)
    if (axes[i] != i) return false;
  return true;
}

/// The value whose last two axes were swapped, or null.
Value* before_swap(const Value* value) {
  const auto* transpose = produced_by<Transpose>(value);
  return transpose != nullptr && swaps_last_two(*transpose) ? value->producer()->input(0) : nullptr;
}

/// The softmax whose result is the first operand of the last product, or transposed the second
/// one: v^T p^T is (p v)^T.
const Node* find_weights(const Graph& graph, const Node& root, AttentionPattern& pattern) {
  const auto& product = *root.as<MatMul>();
  if (!product.transpose_a)
    if (const Node* softmax = find_softmax(graph, root.input(0), pattern)) {
      pattern.v = root.input(1);
      pattern.v_transposed = product.transpose_b;
      return softmax;
    }
  pattern = {};
  pattern.v = root.input(0);
  pattern.v_transposed = !product.transpose_a;
  pattern.out_transposed = true;
  if (product.transpose_b) return find_softmax(graph, root.input(1), pattern);
  Value* weights = before_swap(root.input(1));
  if (weights == nullptr || only_user(graph, root.input(1)) == nullptr) return nullptr;
  return find_softmax(graph, weights, pattern);
}

/// Scales and transposes between k and its product.
void strip_keys(AttentionPattern& pattern) {
  while (true) {
    pattern.k = without_factor(pattern.k, pattern.scale);
    Value* before = before_swap(pattern.k);
    if (before == nullptr) return;
    pattern.k = before;
    pattern.k_transposed = !pattern.k_transposed;
  }
}

/// Operands that were widened for the products, so that these accumulate in f32, and whose result
/// is narrowed again: as they were, since kernels accumulate 16-bit operands in f32 in any case.
/// Not where those are of the type that the device does not compute in.
void strip_widening(const Graph& graph, const Node& root, std::optional<DataType> foreign,
                    AttentionPattern& pattern) {
  const Node* narrows = only_user(graph, root.output());
  if (narrows == nullptr || !narrows->is<Cast>()) return;
  const DataType type = narrows->output()->type.type;
  if (type != DataType::kFloat16 && type != DataType::kBFloat16) return;
  if (type == foreign) return;
  for (Value* operand : {pattern.q, pattern.k, pattern.v})
    if (produced_by<Cast>(operand) == nullptr || operand->producer()->input(0)->type.type != type)
      return;
  for (Value** operand : {&pattern.q, &pattern.k, &pattern.v})
    *operand = (*operand)->producer()->input(0);
  pattern.q = without_factor(pattern.q, pattern.scale);
  strip_keys(pattern);
}

}  // namespace

std::optional<AttentionPattern> match_attention(const Graph& graph, const Node& root,
                                                std::optional<DataType> foreign) {
  if (!root.is<MatMul>()) return std::nullopt;
  AttentionPattern start;
  const Node* softmax = find_weights(graph, root, start);
  if (softmax == nullptr) return std::nullopt;
  start.softmax_type = softmax->output()->type.type;
  ScoreWalk walk(graph, std::move(start));
  const Node* scores = walk.walk(softmax->input(0));
  if (scores == nullptr || scores->as<MatMul>()->transpose_a) return std::nullopt;
  AttentionPattern pattern = std::move(walk.pattern());
  pattern.k = scores->input(1);
  pattern.k_transposed = !scores->as<MatMul>()->transpose_b;
  pattern.q = without_factor(scores->input(0), pattern.scale);
  strip_keys(pattern);
  strip_widening(graph, root, foreign, pattern);
  if (!operands_fit(pattern) || pattern.scale == 0) return std::nullopt;
  return pattern;
}

namespace {

/// [B,1,S,H] of a value [B,n,S,H] that repeats one head.
Value* one_head(const Value* value) {
  const Node* repeat = value->producer();
  if (repeat == nullptr || (!repeat->is<Expand>() && !repeat->is<Tile>())) return nullptr;
  Shape x = repeat->input(0)->type.shape;
  const Shape& repeated = value->type.shape;
  if (x.size() != 4 || repeated.size() != 4 || !(x[1] == Dim(1))) return nullptr;
  x[1] = repeated[1];
  return x == repeated ? repeat->input(0) : nullptr;
}

/// [B,h,1,S,H] of a value [B,h*n,S,H] whose heads were repeated: an axis expanded or tiled, then
/// joined with the heads. Of a single head also without that axis.
Value* before_repeats(Value* value) {
  if (Value* head = one_head(value)) return head;
  Value* parted = value;
  while (is_reshape(parted->producer())) parted = parted->producer()->input(0);
  const Node* repeat = parted == value ? nullptr : parted->producer();
  if (repeat == nullptr || (!repeat->is<Expand>() && !repeat->is<Tile>())) return nullptr;
  const Shape &joined = value->type.shape, &repeated = parted->type.shape,
              &x = repeat->input(0)->type.shape;
  if (x.size() != 5 || joined.size() != 4 || repeated.size() != 5 || !(x[2] == Dim(1)))
    return nullptr;
  const Shape spread = {x[0], x[1], repeated[2], x[3], x[4]};
  const Shape all = {x[0], x[1] * repeated[2], x[3], x[4]};
  return repeated == spread && joined == all ? repeat->input(0) : nullptr;
}

/// [B,h,S,H] of [B,h,1,S,H], or of itself.
Value* without_axis(Graph& graph, Value* value, const Node& like) {
  Shape shape = value->type.shape;
  if (shape.size() == 4) return value;
  shape.erase(shape.begin() + 2);
  if (is_reshape(value->producer()) && value->producer()->input(0)->type.shape == shape)
    return value->producer()->input(0);
  return add_reshape(graph, value, shape, like);
}

}  // namespace

Value* without_factor(Value* value, double& scale) {
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

bool share_heads(Graph& graph, Value*& k, Value*& v, const Node& like) {
  Value *few_k = before_repeats(k), *few_v = before_repeats(v);
  if (few_k == nullptr || few_v == nullptr || !(few_k->type.shape[1] == few_v->type.shape[1]))
    return false;
  k = without_axis(graph, few_k, like);
  v = without_axis(graph, few_v, like);
  return true;
}

}  // namespace tenon
