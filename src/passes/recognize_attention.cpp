// softmax(scale * q k^T + mask) v becomes one attention operator, which keeps no matrix of scores;
// passes/attention_pattern.h tells in which forms. Repeated heads of keys and values are not
// repeated, a mask that is known to be causal becomes an attribute, and a transpose behind is taken
// in. Must run after fold_constants and before fuse_epilogue.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/table.h"
#include "passes/attention_pattern.h"
#include "passes/causal_mask.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// Elements of a head that kernels with tensor cores take (kernels/attention/limits_cuda.def).
constexpr int64_t kUsualHead = 256;
/// Sums of this and a score are this.
constexpr double kDrowning = -1e30;

Value* number(Graph& graph, DataType type, double x) {
  Tensor tensor(type, {});
  tensor.set_from_double(0, x);
  Value* value = graph.add_constant(std::move(tensor));
  value->type = {type, {}};
  return value;
}

/// Writes q, k, v and masks of one pattern as the operands of attention.
class Rewriter {
 public:
  Rewriter(Graph& graph, const Node& root, const AttentionPattern& pattern)
      : graph_(graph), root_(root), pattern_(pattern) {
    const Shape& q = pattern.q->type.shape;
    level_ = q.size() == 3 ? pattern.heads : Shape{Dim(1), q[q.size() - 3]};
    for (size_t i = 0; i + 3 < q.size(); ++i) level_[0] = level_[0] * q[i];
    const Shape& k = pattern.k->type.shape;
    queries_ = q[q.size() - 2];
    keys_ = k[k.size() - (pattern.k_transposed ? 1 : 2)];
  }

  /// False when a mask stands where it cannot be carried to [B, heads, Sq, Skv].
  bool can_place_masks() const {
    return std::all_of(pattern_.masks.begin(), pattern_.masks.end(),
                       [this](const ScoreMask& mask) { return placement(mask).has_value(); });
  }

  Node* run() {
    auto attention = std::make_unique<Attention>();
    attention->scale = pattern_.scale;
    attention->softcap = pattern_.soft_cap;
    attention->masked_rows_zero = pattern_.masked_rows_zero;
    attention->weights_step = pattern_.weights_step;
    attention->weights_limit = pattern_.weights_limit;
    attention->weights_type = pattern_.weights_type;
    attention->score_steps = texts(pattern_.steps);
    attention->masked_steps = texts(pattern_.masked_steps);
    attention->weight_steps = texts(pattern_.weight_steps);
    attention->out_bsnh = true;
    attention->softmax_type =
        pattern_.softmax_type == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
    Value* q = with_heads(scaled(pattern_.q));
    Value* k = with_heads(rows_of(pattern_.k, pattern_.k_transposed));
    Value* v = with_heads(rows_of(pattern_.v, pattern_.v_transposed));
    share_heads(graph_, k, v, root_);
    std::vector<Value*> inputs = {q, k, v};
    if (Value* mask = combined_mask(*attention)) inputs.push_back(mask);
    Value* result = add_op(graph_, std::move(attention), std::move(inputs), root_);
    Node* node = result->producer();
    node->name = fmt::format("mha({})", root_.name);
    Value* swapped = swapped_back(result);
    swapped = reshaped(graph_, swapped, root_.output()->type.shape, root_);
    if (swapped->type.type != root_.output()->type.type) {
      auto widen = std::make_unique<Cast>();
      widen->to = root_.output()->type.type;
      swapped = add_op(graph_, std::move(widen), {swapped}, root_);
    }
    stand_in(graph_, root_, swapped);
    return node;
  }

 private:
  static std::vector<std::string> texts(const std::vector<ScalarStep>& steps) {
    std::vector<std::string> result;
    for (const ScalarStep& step : steps) result.push_back(to_string(step));
    return result;
  }

  Value* with_heads(Value* value) {
    const Shape& shape = value->type.shape;
    if (shape.size() == 4) return value;
    const size_t rank = shape.size();
    return reshaped(graph_, value, {level_[0], level_[1], shape[rank - 2], shape[rank - 1]}, root_);
  }

  /// The kernel writes [batch, length, heads, size]: the transpose back usually cancels against one
  /// that follows, where it is one of all axes that the network has.
  Value* swapped_back(Value* result) {
    const Shape &written = result->type.shape, &q = pattern_.q->type.shape;
    const size_t lead = q.size() > 4 ? q.size() - 3 : 1;
    if (lead > 1) {
      Shape parted(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(lead));
      parted.insert(parted.end(), written.begin() + 1, written.end());
      result = reshaped(graph_, result, parted, root_);
    }
    auto back = std::make_unique<Transpose>();
    for (size_t i = 0; i < lead + 3; ++i) back->permutation.push_back(static_cast<int64_t>(i));
    std::swap(back->permutation[lead], back->permutation[lead + 1]);
    if (pattern_.out_transposed)
      std::swap(back->permutation[lead + 1], back->permutation[lead + 2]);
    return add_op(graph_, std::move(back), {result}, root_);
  }

  /// The queries times the factor of all scores of a query.
  Value* scaled(Value* q) {
    for (const ScoreFactor& factor : pattern_.factors)
      q = add_pointwise(graph_, factor.divides ? k_div : k_mul, {q, factor.value}, root_);
    return q;
  }

  /// [..., S, H] of a value that may be [..., H, S].
  Value* rows_of(Value* value, bool transposed) {
    if (!transposed) return value;
    auto transpose = std::make_unique<Transpose>();
    const auto rank = static_cast<int64_t>(value->type.shape.size());
    for (int64_t i = 0; i < rank; ++i) transpose->permutation.push_back(i);
    std::swap(transpose->permutation[rank - 1], transpose->permutation[rank - 2]);
    if (swaps_last_two(value)) return value->producer()->input(0);
    if (Value* before = swapped_before_reshape(value)) {
      Shape shape = value->type.shape;
      std::swap(shape[rank - 1], shape[rank - 2]);
      return reshaped(graph_, before, shape, root_);
    }
    return add_op(graph_, std::move(transpose), {value}, root_);
  }

  /// Whether the value is a transpose of its last two axes alone.
  static bool swaps_last_two(const Value* value) {
    const auto* transpose = produced_by<Transpose>(value);
    if (transpose == nullptr) return false;
    std::vector<int64_t> order = transpose->permutation;
    if (order.size() < 2) return false;
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return std::is_sorted(order.begin(), order.end());
  }

  /// The input of a transpose with a reshape of other axes behind it: heads that were repeated are
  /// joined so.
  static Value* swapped_before_reshape(const Value* value) {
    if (!is_reshape(value->producer())) return nullptr;
    const Value* parted = value->producer()->input(0);
    const Shape &joined = value->type.shape, &parts = parted->type.shape;
    const bool keeps_both = joined.size() >= 2 && parts.size() >= 2 &&
                            joined.back() == parts.back() &&
                            joined[joined.size() - 2] == parts[parts.size() - 2];
    return keeps_both && swaps_last_two(parted) ? parted->producer()->input(0) : nullptr;
  }

  /// Extents before a mask's last two axes, as many as its level has.
  static Shape leading(const ScoreMask& mask) {
    const Shape& shape = mask.value->type.shape;
    Shape result(mask.level.size(), Dim(1));
    for (size_t i = 0; i + 2 < shape.size(); ++i)
      result[result.size() - (shape.size() - 2) + i] = shape[i];
    return result;
  }

  /// How the mask is carried to the level of batch and heads: the extents it is expanded to, then
  /// those it is reshaped to, both before the last two axes.
  struct Placement {
    Shape expanded, reshaped;
  };

  std::optional<Placement> placement(const ScoreMask& mask) const {
    if (mask.value->type.shape.size() > mask.level.size() + 2) return std::nullopt;
    const Shape lead = leading(mask);
    const auto is_one = [](const Dim& dim) { return dim == Dim(1); };
    if (mask.level == level_) return Placement{lead, lead};
    if (std::all_of(lead.begin(), lead.end(), is_one)) return Placement{lead, {}};
    Placement result;
    if (const auto groups = joined_axes(mask.level, level_)) {
      for (size_t g = 0; g < groups->size(); ++g) {
        const bool repeats = std::all_of((*groups)[g].begin(), (*groups)[g].end(),
                                         [&](int64_t axis) { return is_one(lead[axis]); });
        for (const int64_t axis : (*groups)[g])
          result.expanded.push_back(repeats ? Dim(1) : mask.level[axis]);
        result.reshaped.push_back(repeats ? Dim(1) : level_[g]);
      }
      return result;
    }
    const auto parts = joined_axes(level_, mask.level);
    if (!parts.has_value()) return std::nullopt;
    result.expanded = lead;
    for (size_t g = 0; g < parts->size(); ++g)
      for (const int64_t axis : (*parts)[g])
        result.reshaped.push_back(is_one(lead[g]) ? Dim(1) : level_[axis]);
    return result;
  }

  Value* placed(const ScoreMask& mask) {
    const Placement to = *placement(mask);
    Value* value = mask.value;
    const Shape& shape = value->type.shape;
    if (shape.size() < 2) return value;
    const Shape matrix(shape.end() - 2, shape.end());
    Shape expanded = to.expanded, final_shape = to.reshaped;
    if (final_shape == leading(mask)) return value;
    expanded.insert(expanded.end(), matrix.begin(), matrix.end());
    final_shape.insert(final_shape.end(), matrix.begin(), matrix.end());
    if (to.expanded != leading(mask))
      value =
          add_op(graph_, std::make_unique<Expand>(), {value, add_shape(graph_, expanded)}, root_);
    return reshaped(graph_, value, final_shape, root_);
  }

  /// Whether each row of a constant keeps an element: then the number in place of the others does
  /// not matter.
  static bool keeps_some_in_each_row(const ScoreMask& mask) {
    const Tensor* tensor = mask.value->constant();
    if (tensor == nullptr || tensor->rank() == 0) return false;
    const int64_t row = tensor->extents().back();
    for (int64_t begin = 0; begin < tensor->count(); begin += row) {
      bool any = false;
      for (int64_t i = begin; i < begin + row; ++i)
        any |= (tensor->as_int64(i) != 0) == (mask.kind == ScoreMask::kKept);
      if (!any) return false;
    }
    return true;
  }

  /// A bool mask (true keeps), or a sum where rows without any kept score must stay finite.
  Value* as_term(const ScoreMask& mask) {
    Value* value = placed(mask);
    if (mask.kind == ScoreMask::kAdded) return value;
    if (std::isinf(mask.fill) || keeps_some_in_each_row(mask))
      return mask.kind == ScoreMask::kKept ? value : add_pointwise(graph_, k_not, {value}, root_);
    // Nothing is left of scores that the sum is this far from: where no key is kept and nothing
    // else is added behind, all get the same weight, as they did.
    const DataType type = pattern_.q->type.type;
    const bool drowns = &mask == pattern_.masks.data() && type != DataType::kFloat16;
    const double sum = drowns ? std::min(mask.fill, kDrowning) : mask.fill;
    Value *zero = number(graph_, type, 0), *fill = number(graph_, type, sum);
    if (mask.kind == ScoreMask::kDropped) std::swap(zero, fill);
    return add_pointwise(graph_, k_where, {value, zero, fill}, root_);
  }

  /// Whether the mask keeps exactly the keys up to the query's own, counted from the first or from
  /// the last key on: then it is an attribute.
  bool takes_causality(const ScoreMask& mask, CausalMask& causal) const {
    if (causal != CausalMask::kNone || !pattern_.masked_steps.empty()) return false;
    const auto triangle = triangle_of(mask.value);
    if (!triangle.has_value()) return false;
    const double below = triangle->below, above = triangle->above;
    const bool fits = mask.kind == ScoreMask::kAdded  ? below == 0 && above <= kVeryNegative
                      : mask.kind == ScoreMask::kKept ? below != 0 && above == 0
                                                      : below == 0 && above != 0;
    if (!fits) return false;
    // Rows without any key would stay finite.
    const double fill = mask.kind == ScoreMask::kAdded ? above : mask.fill;
    if (!std::isinf(fill) && triangle->offset.range(graph_.symbol_ranges).min < 0) return false;
    if (triangle->offset == Dim(0))
      causal = CausalMask::kUpperLeft;
    else if (triangle->offset == keys_ - queries_)
      causal = CausalMask::kLowerRight;
    return causal != CausalMask::kNone;
  }

  Value* combined_mask(Attention& attention) {
    Value *keep = nullptr, *sum = nullptr;
    for (const ScoreMask& mask : pattern_.masks) {
      if (takes_causality(mask, attention.causal)) continue;
      Value* term = as_term(mask);
      fold(term);
      Value*& all = term->type.type == DataType::kBool ? keep : sum;
      const PointwiseFunction join = term->type.type == DataType::kBool ? k_and : k_add;
      all = all == nullptr ? term : add_pointwise(graph_, join, {all, term}, root_);
    }
    if (sum == nullptr || keep == nullptr) return sum == nullptr ? keep : sum;
    const double never = -std::numeric_limits<double>::infinity();
    return add_pointwise(graph_, k_where, {keep, sum, number(graph_, sum->type.type, never)},
                         root_);
  }

  /// Evaluates a term that follows from constants, so that its contents can be looked at.
  void fold(Value*& term) {
    const Node* node = term->producer();
    if (node == nullptr || node->is<Constant>()) return;
    std::vector<const Tensor*> operands;
    for (const Value* input : node->inputs()) {
      if (input == nullptr || input->constant() == nullptr) return;
      operands.push_back(input->constant());
    }
    auto results = evaluate_node(*node, operands);
    if (!results.ok()) return;
    const TensorType type = term->type;
    term = graph_.add_constant((*results)[0]);
    term->type = type;
  }

  Graph& graph_;
  const Node& root_;
  const AttentionPattern& pattern_;
  Shape level_;  ///< Batch and heads.
  Dim queries_, keys_;
};

}  // namespace

namespace {

bool is_usual(const Dim& size) {
  return !size.is_constant() || size.constant() <= kUsualHead;
}

/// Wider heads are few, so that their scores are small beside the time of their products.
bool has_usual_heads(const AttentionPattern& pattern) {
  const Shape &q = pattern.q->type.shape, &v = pattern.v->type.shape;
  return is_usual(q.back()) && is_usual(v[v.size() - (pattern.v_transposed ? 2 : 1)]);
}

}  // namespace

bool recognize_attention(Graph& graph, PassContext& context) {
  // Where f16 is computed in another type, casts around attention come from widen_half.
  const auto foreign =
      context.options().half_as.has_value() ? std::optional(DataType::kFloat16) : std::nullopt;
  return for_each_fusible(graph, context, [&](Node& root) {
    const auto pattern = match_attention(graph, root, foreign);
    if (!pattern || !(context.options().wide_heads || has_usual_heads(*pattern))) return false;
    Rewriter rewriter(graph, root, *pattern);
    if (!rewriter.can_place_masks()) return false;
    rewriter.run();
    return context.applied(root.name + " is attention");
  });
}

}  // namespace tenon
