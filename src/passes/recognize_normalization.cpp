// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), written with a division, a reciprocal or
// a power, is one normalization, also multiplied out; without the mean it is an RMS normalization,
// and so is division by the length of a vector. The product and the sum behind it become its scale
// and bias. One over the channels of an image stands between transposes, which move nothing where
// images are channels-last. Must run after merge_equal (means are shared) and before fuse_epilogue.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "passes/channel_constants.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// variance + epsilon.
struct Spread {
  Value* variance = nullptr;
  double epsilon = 0;
};

std::optional<Spread> spread_of(const Value* value) {
  const Node* sum = pointwise_producer(value, k_add);
  if (sum == nullptr) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const auto epsilon = scalar_of(sum->input(i));
    if (epsilon.has_value() && *epsilon >= 0 && *epsilon < 1)
      return Spread{sum->input(1 - i), *epsilon};
  }
  return std::nullopt;
}

/// value == (variance + epsilon)^exponent for an exponent of 0.5 or -0.5.
std::optional<Spread> root_of(const Value* value, double exponent) {
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  if (is_function(*node, k_pow) && is_scalar(node->input(1), exponent))
    return spread_of(node->input(0));
  if (exponent > 0) return is_function(*node, k_sqrt) ? spread_of(node->input(0)) : std::nullopt;
  if (is_function(*node, k_rsqrt)) return spread_of(node->input(0));
  if (is_function(*node, k_reciprocal)) return root_of(node->input(0), 0.5);
  if (is_function(*node, k_div) && is_scalar(node->input(0), 1))
    return root_of(node->input(1), 0.5);
  return std::nullopt;
}

/// Axes that a normalization takes together: the last ones from `first` on, or the channels alone.
struct Axes {
  int64_t first = 0;
  bool channels = false;  ///< Axis 1, with others behind it.
  bool operator==(const Axes&) const = default;
};

/// Of a tensor of rank `rank`; nothing for others.
std::optional<Axes> axes_of(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes == std::vector<int64_t>{1} && rank > 2) return Axes{1, true};
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return std::nullopt;
  if (axes.empty() || axes[0] == 0) return std::nullopt;
  return Axes{axes[0]};
}

/// The mean's operand and axes, which are kept.
struct Mean {
  Value* of = nullptr;
  Axes axes;
};

std::optional<Mean> mean_of(const Value* value) {
  const auto* reduce = produced_by<Reduce>(value);
  if (reduce == nullptr || reduce->function != ReduceFunction::kMean || !reduce->keep_dims)
    return std::nullopt;
  const Node& node = *value->producer();
  const int64_t rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  std::vector<int64_t> axes = reduce->axes;
  if (node.has_input(1)) {
    if (node.input(1)->constant() == nullptr) return std::nullopt;
    axes = node.input(1)->constant()->to_int64s();
  }
  const auto found = axes_of(std::move(axes), rank);
  return found.has_value() ? std::optional(Mean{node.input(0), *found}) : std::nullopt;
}

/// u for u * u and u^2.
Value* square_of(const Value* value) {
  if (const Node* product = pointwise_producer(value, k_mul);
      product != nullptr && product->input(0) == product->input(1))
    return product->input(0);
  const Node* power = pointwise_producer(value, k_pow);
  return power != nullptr && is_scalar(power->input(1), 2) ? power->input(0) : nullptr;
}

struct Pattern {
  Value* x = nullptr;
  Axes axes;
  double epsilon = 0;
  NormKind kind = NormKind::kLayer;
  double scale = 1;
};

/// `deviation` divided by the root of its mean square.
std::optional<Pattern> match(Value* deviation, const std::optional<Spread>& spread) {
  if (!spread.has_value()) return std::nullopt;
  const auto square_mean = mean_of(spread->variance);
  if (!square_mean.has_value() || square_of(square_mean->of) != deviation) return std::nullopt;
  Pattern pattern{deviation, square_mean->axes, spread->epsilon, NormKind::kRms};
  if (const Node* difference = pointwise_producer(deviation, k_sub)) {
    const auto mean = mean_of(difference->input(1));
    if (mean.has_value() && mean->of == difference->input(0) && mean->axes == pattern.axes) {
      pattern.x = mean->of;
      pattern.kind = NormKind::kLayer;
    }
  }
  return is_real(pattern.x->type.type) ? std::optional(pattern) : std::nullopt;
}

/// Over channels only where nothing else reads the root: series are often given theirs back.
std::optional<Pattern> match(Value* deviation, const Value* root, double exponent) {
  auto found = match(deviation, root_of(root, exponent));
  if (found.has_value() && found->axes.channels && root->uses().size() != 1) found.reset();
  return found;
}

std::optional<Pattern> match(const Node& root) {
  if (is_function(root, k_div)) return match(root.input(0), root.input(1), 0.5);
  if (!is_function(root, k_mul)) return std::nullopt;
  for (int i = 0; i < 2; ++i)
    if (auto found = match(root.input(i), root.input(1 - i), -0.5)) return found;
  return std::nullopt;
}

/// A layer normalization with its brackets multiplied out.
struct Expanded {
  Pattern pattern;
  Value *scale = nullptr, *bias = nullptr;
};

/// f as the reciprocal root of x's variance about `mean`, or that times a scale.
std::optional<Expanded> match_factor(Value* f, Value* x, const Value* mean) {
  const Node* product = pointwise_producer(f, k_mul);
  for (int i = 0; i < (product == nullptr ? 1 : 2); ++i) {
    const auto spread = root_of(product == nullptr ? f : product->input(i), -0.5);
    const auto variance = spread.has_value() ? mean_of(spread->variance) : std::nullopt;
    const Value* deviation = variance.has_value() ? square_of(variance->of) : nullptr;
    const Node* difference = deviation == nullptr ? nullptr : pointwise_producer(deviation, k_sub);
    if (difference == nullptr || difference->input(0) != x || difference->input(1) != mean ||
        !(mean_of(mean)->axes == variance->axes) || variance->axes.channels)
      continue;
    return Expanded{{x, variance->axes, spread->epsilon},
                    product == nullptr ? nullptr : product->input(1 - i)};
  }
  return std::nullopt;
}

/// x f - mean(x) f.
std::optional<Expanded> match_difference(const Value* kept, const Value* taken) {
  const Node *scaled = pointwise_producer(kept, k_mul), *center = pointwise_producer(taken, k_mul);
  if (scaled == nullptr || center == nullptr) return std::nullopt;
  for (int i = 0; i < 4; ++i) {
    Value *x = scaled->input(i % 2), *f = scaled->input(1 - i % 2);
    const Value* mean = center->input(i / 2);
    const auto found = mean_of(mean);
    if (center->input(1 - i / 2) == f && found.has_value() && found->of == x &&
        is_real(x->type.type))
      if (auto expanded = match_factor(f, x, mean)) return expanded;
  }
  return std::nullopt;
}

/// x f + (bias - mean(x) f), as TensorFlow has it, or without a bias.
std::optional<Expanded> match_expanded(const Node& root) {
  if (is_function(root, k_sub)) return match_difference(root.input(0), root.input(1));
  if (!is_function(root, k_add)) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Node* shift = pointwise_producer(root.input(1 - i), k_sub);
    auto found = shift == nullptr ? std::nullopt : match_difference(root.input(i), shift->input(1));
    if (!found.has_value()) continue;
    found->bias = shift->input(0);
    return found;
  }
  return std::nullopt;
}

/// The operand of `user` beside x as a tensor of the normalized extents, or null.
Value* factors_of(Graph& graph, const Node& user, const Value* x, int64_t axis) {
  Value* other = user.input(user.input(0) == x ? 1 : 0);
  const Shape extents(x->type.shape.begin() + axis, x->type.shape.end());
  if (other == x || other->type.type != x->type.type) return nullptr;
  if (other->type.shape == extents) return other;
  const Tensor* tensor = other->constant();
  if (tensor == nullptr || other->type.shape.size() > x->type.shape.size() ||
      !(product(other->type.shape) == product(extents)))
    return nullptr;
  const Shape& shape = other->type.shape;
  if (shape.size() < extents.size() ||
      !std::equal(extents.begin(), extents.end(), shape.end() - extents.size()))
    return nullptr;
  Value* value = graph.add_constant(tensor->reshaped(constants(extents)));
  value->type = {tensor->type(), extents};
  return value;
}

/// The same for a normalization over channels, which are axis 1 of `x`.
Value* channel_factors_of(Graph& graph, const Node& user, const Value* x) {
  const Value* other = user.input(user.input(0) == x ? 1 : 0);
  const Shape& shape = x->type.shape;
  if (other->type.type != x->type.type || !shape[1].is_constant()) return nullptr;
  const int64_t channels = shape[1].constant();
  const auto numbers = per_channel(other, static_cast<int64_t>(shape.size()), 1, channels);
  return numbers.has_value() ? constant_like(graph, x->type.type, {channels}, *numbers) : nullptr;
}

/// From channels at axis 1 to channels last, and back.
std::vector<int64_t> channels_last(int64_t rank) {
  std::vector<int64_t> permutation(rank, 1);
  permutation[0] = 0;
  std::iota(permutation.begin() + 1, permutation.end() - 1, 2);
  return permutation;
}
std::vector<int64_t> channels_first(int64_t rank) {
  std::vector<int64_t> permutation(rank, rank - 1);
  permutation[0] = 0;
  std::iota(permutation.begin() + 2, permutation.end(), 1);
  return permutation;
}

/// The transpose behind a normalization over channels that brings them back, or null.
Value* brought_back(const Graph& graph, const Node& norm) {
  const Node* user = only_user(graph, norm.output());
  const auto* transpose = user == nullptr ? nullptr : user->as<Transpose>();
  const auto rank = static_cast<int64_t>(norm.output()->type.shape.size());
  return transpose != nullptr && rank > 2 && transpose->permutation == channels_first(rank)
             ? user->output()
             : nullptr;
}

/// Takes the product, then the sum behind a normalization in. True when it did.
bool take_factors(Graph& graph, Node& norm) {
  const auto* op = norm.as<Normalization>();
  const bool rows = op->over_rows();
  if (!rows || norm.outputs().size() != 1 || norm.inputs().size() > 2) return false;
  const int64_t rank = static_cast<int64_t>(norm.output()->type.shape.size());
  const int64_t axis = op->axis < 0 ? op->axis + rank : op->axis;
  Value* const channels = axis == rank - 1 ? brought_back(graph, norm) : nullptr;
  Value* const result = channels != nullptr ? channels : norm.output();
  Node* user = only_user(graph, result);
  const bool scaled = norm.has_input(1);
  if (user == nullptr || !is_function(*user, scaled ? k_add : k_mul) ||
      user->output()->type != result->type)
    return false;
  Value* factors = channels != nullptr ? channel_factors_of(graph, *user, result)
                                       : factors_of(graph, *user, result, axis);
  if (factors == nullptr) return false;
  norm.append_input(factors);
  add_origins(norm, *user);
  result->name = user->output()->name;
  graph.replace_uses(user->output(), result);
  graph.erase(user);
  return true;
}

/// x / max(|x|, least), as F.normalize has it, over an axis of known extent. With n elements it
/// is x / sqrt(mean(x^2) + least^2 / n) / sqrt(n) but for norms near `least`, which must be next to
/// nothing for that.
std::optional<Pattern> match_unit_length(const Node& root) {
  constexpr double kLeast = 1e-17, kNothing = 1e-8;
  if (!is_function(root, k_div)) return std::nullopt;
  const Node* clamp = pointwise_producer(root.input(1), k_max);
  for (int i = 0; i < 2 && clamp != nullptr; ++i) {
    const double least = scalar_of(clamp->input(1 - i)).value_or(0);
    const auto* reduce = produced_by<Reduce>(clamp->input(i));
    if (reduce == nullptr || reduce->function != ReduceFunction::kL2 || !reduce->keep_dims ||
        least < kLeast || least > kNothing)
      continue;
    const Node& norm = *clamp->input(i)->producer();
    const Shape& shape = root.input(0)->type.shape;
    const auto axes = axes_of(reduce->axes, static_cast<int64_t>(shape.size()));
    if (norm.input(0) != root.input(0) || norm.inputs().size() != 1 || reduce->axes.size() != 1 ||
        !axes.has_value() || !shape[axes->first].is_constant() || shape[axes->first].constant() < 1)
      continue;
    const auto count = static_cast<double>(shape[axes->first].constant());
    return Pattern{root.input(0), *axes, least * least / count, NormKind::kRms,
                   1 / std::sqrt(count)};
  }
  return std::nullopt;
}

/// The same number for all normalized elements.
Value* add_scale(Graph& graph, const Pattern& pattern) {
  const Dim& count = pattern.x->type.shape[pattern.axes.first];
  Tensor tensor(pattern.x->type.type, {count.constant()});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_double(i, pattern.scale);
  Value* value = graph.add_constant(std::move(tensor));
  value->type = {pattern.x->type.type, {count}};
  return value;
}

Node* replace(Graph& graph, Node& root, const Pattern& pattern) {
  const auto rank = static_cast<int64_t>(pattern.x->type.shape.size());
  const bool channels = pattern.axes.channels;
  auto norm = std::make_unique<Normalization>();
  norm->norm = pattern.kind;
  norm->axis = channels ? rank - 1 : pattern.axes.first;
  norm->epsilon = pattern.epsilon;
  std::vector<Value*> inputs = {channels ? transposed(graph, pattern.x, channels_last(rank), root)
                                         : pattern.x};
  if (pattern.scale != 1) inputs.push_back(add_scale(graph, pattern));
  Value* result = add_op(graph, std::move(norm), std::move(inputs), root);
  Node* node = result->producer();
  stand_in(graph, root, channels ? transposed(graph, result, channels_first(rank), root) : result);
  return node;
}

/// Scale and bias stand behind, from where they are taken in.
Node* replace(Graph& graph, Node& root, const Expanded& expanded) {
  auto norm = std::make_unique<Normalization>();
  norm->norm = NormKind::kLayer;
  norm->axis = expanded.pattern.axes.first;
  norm->epsilon = expanded.pattern.epsilon;
  Value* result = add_op(graph, std::move(norm), {expanded.pattern.x}, root);
  Node* node = result->producer();
  if (expanded.scale != nullptr)
    result = add_pointwise(graph, k_mul, {result, expanded.scale}, root);
  if (expanded.bias != nullptr) result = add_pointwise(graph, k_add, {result, expanded.bias}, root);
  stand_in(graph, root, result);
  return node;
}

}  // namespace

bool recognize_normalization(Graph& graph, PassContext& context) {
  std::vector<Node*> norms;
  bool changed = for_each_fusible(graph, context, [&](Node& node) {
    if (node.is<Normalization>()) norms.push_back(&node);
    auto pattern = match(node);
    if (!pattern.has_value()) pattern = match_unit_length(node);
    if (const auto expanded = match_expanded(node); !pattern.has_value() && expanded.has_value()) {
      norms.push_back(replace(graph, node, *expanded));
      return context.applied(fmt::format("{} is layer normalization", node.name));
    }
    if (!pattern.has_value()) return false;
    norms.push_back(replace(graph, node, *pattern));
    return context.applied(fmt::format("{} is {} normalization", node.name,
                                       pattern->kind == NormKind::kRms ? "RMS" : "layer"));
  });
  for (Node* norm : norms)
    while (take_factors(graph, *norm)) changed = true;
  return changed;
}

}  // namespace tenon
