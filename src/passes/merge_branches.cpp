// Convolutions of one image whose results are added are one convolution, whose window is the
// largest of theirs; the image itself times a number a channel is a window of one pixel. Networks
// are trained with such branches (RepVGG, MobileOne, FastViT) and exported with them. Must run
// after fold_into_weights, which takes batch normalization into the branches, and before it once
// more: scales behind the sum go into the weights.
#include <algorithm>
#include <ranges>
#include <set>

#include "ops/nn_window.h"
#include "passes/channel_constants.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// Far more than exporters write: longer sums would be taken apart again at each of their nodes.
constexpr size_t kMostNodes = 64;

/// A value times a number a channel.
struct Branch {
  Value* value;
  std::vector<double> factors;
};

/// Value as a sum of branches and a shift a channel.
class Sum {
 public:
  Sum(const Graph& graph, const Node& root)
      : graph_(graph), shape_(root.output()->type.shape), channels_(shape_[1].constant()) {
    shift.assign(static_cast<size_t>(channels_), 0);
    add_node(root, std::vector<double>(channels_, 1));
  }

  std::vector<Branch> branches;
  std::vector<double> shift;
  std::vector<const Node*>
      nodes;  ///< The sums and products that were taken apart, outermost first.

 private:
  std::optional<std::vector<double>> numbers_of(const Value* value) const {
    return per_channel(value, static_cast<int64_t>(shape_.size()), 1, channels_);
  }

  void add(Value* value, std::vector<double> factors) {
    if (const auto numbers = numbers_of(value)) {
      for (int64_t c = 0; c < channels_; ++c) shift[c] += factors[c] * (*numbers)[c];
      return;
    }
    const Node* node = value->producer();
    if (node == nullptr || only_user(graph_, value) == nullptr || value->type.shape != shape_ ||
        !add_node(*node, factors))
      branches.push_back({value, std::move(factors)});
  }

  /// False for other nodes.
  bool add_node(const Node& node, std::vector<double> factors) {
    if (nodes.size() == kMostNodes) return false;
    const bool subtracts = is_function(node, k_sub);
    if (is_function(node, k_add) || subtracts) {
      nodes.push_back(&node);
      add(node.input(0), factors);
      if (subtracts)
        for (double& factor : factors) factor = -factor;
      add(node.input(1), std::move(factors));
      return true;
    }
    if (!is_function(node, k_mul)) return false;
    for (int i = 0; i < 2; ++i) {
      const auto numbers = numbers_of(node.input(i));
      if (!numbers.has_value()) continue;
      nodes.push_back(&node);
      for (int64_t c = 0; c < channels_; ++c) factors[c] *= (*numbers)[c];
      add(node.input(1 - i), std::move(factors));
      return true;
    }
    return false;
  }

  const Graph& graph_;
  const Shape& shape_;
  const int64_t channels_;
};

/// A convolution that a sum may take in: nothing else reads it, all of it is known.
bool is_branch(const Graph& graph, const Node& node) {
  const auto* conv = node.as<Conv>();
  return conv != nullptr && conv->pad_mode == PadMode::kExplicit &&
         node.input(1)->constant() != nullptr && is_real(node.input(1)->constant()->type()) &&
         has_constant_bias(node) && only_user(graph, node.output()) != nullptr;
}

/// Where the taps of a window lie along a spatial axis, from the pixel that is computed (times the
/// stride) on.
struct KernelWindow {
  int64_t first = 0, step = 1, count = 1;

  /// Place of another window's tap among these taps, or nothing.
  std::optional<int64_t> place_of(int64_t at) const {
    const int64_t place = (at - first) / step;
    if ((at - first) % step != 0 || place < 0 || place >= count) return std::nullopt;
    return place;
  }
};

std::vector<KernelWindow> windows_of(const Node& node) {
  const auto& conv = *node.as<Conv>();
  std::vector<KernelWindow> windows;
  const Extents& extents = node.input(1)->constant()->extents();
  for (size_t i = 0; i + 2 < extents.size(); ++i)
    windows.push_back(
        {-axis_or(conv.pads_begin, i, 0), axis_or(conv.dilations, i, 1), extents[2 + i]});
  return windows;
}

/// Places of the taps of `inner`, in their order, among those of `outer`; empty where one is
/// missing.
std::vector<int64_t> places_in(const std::vector<KernelWindow>& outer,
                               const std::vector<KernelWindow>& inner) {
  std::vector<int64_t> places = {0};
  for (size_t i = 0; i < outer.size(); ++i) {
    std::vector<int64_t> next;
    for (const int64_t place : places)
      for (int64_t tap = 0; tap < inner[i].count; ++tap) {
        const auto along = outer[i].place_of(inner[i].first + tap * inner[i].step);
        if (!along.has_value()) return {};
        next.push_back(place * outer[i].count + *along);
      }
    places = std::move(next);
  }
  return places;
}

/// The sum of branches as weights and bias of the convolution among them whose window is largest.
class Merged {
 public:
  explicit Merged(Node& largest)
      : largest_(largest),
        windows_(windows_of(largest)),
        weights_(largest.input(1)->constant()->extents()) {
    for (const KernelWindow& window : windows_) window_ *= window.count;
  }

  /// Whether the branch is a part of such a convolution.
  bool takes(const Graph& graph, const Branch& branch) const {
    if (branch.value == largest_.input(0)) return takes_image(branch.factors);
    const Node* node = branch.value->producer();
    return node != nullptr && is_branch(graph, *node) &&
           branch.value->type.shape == largest_.output()->type.shape && takes_convolution(*node);
  }

  /// Of a sum all of whose branches it takes.
  void merge(Graph& graph, const Sum& sum) {
    values_.assign(static_cast<size_t>(weights_[0] * weights_[1] * window_), 0);
    bias_ = sum.shift;
    for (const Branch& branch : sum.branches) {
      if (branch.value == largest_.input(0))
        add_image(branch.factors);
      else
        add_convolution(*branch.value->producer(), branch.factors);
    }
    largest_.set_input(1, constant_like(graph, largest_.input(1)->type.type, weights_, values_));
    if (std::ranges::any_of(bias_, [](double b) { return b != 0; }) || largest_.has_input(2))
      set_bias(graph, largest_, bias_);
  }

 private:
  double& weight(int64_t out, int64_t in, int64_t tap) {
    return values_[static_cast<size_t>((out * weights_[1] + in) * window_ + tap)];
  }

  /// Of the image itself.
  std::vector<int64_t> center() const {
    return places_in(windows_, std::vector<KernelWindow>(windows_.size()));
  }

  /// An image as it is stays a residual: it costs little, and weights next to 1 would lose digits.
  bool takes_image(const std::vector<double>& factors) const {
    const auto is_one = [](auto number) { return std::abs(number) == 1; };
    return std::ranges::all_of(largest_.as<Conv>()->strides, is_one) &&
           largest_.input(0)->type.shape == largest_.output()->type.shape &&
           !std::ranges::all_of(factors, is_one) && !center().empty();
  }

  void add_image(const std::vector<double>& factors) {
    const int64_t tap = center()[0];
    for (int64_t c = 0; c < weights_[0]; ++c) weight(c, c % weights_[1], tap) += factors[c];
  }

  bool takes_convolution(const Node& node) const {
    const auto &conv = *node.as<Conv>(), &largest = *largest_.as<Conv>();
    if (node.input(0) != largest_.input(0) || conv.groups != largest.groups) return false;
    for (size_t i = 0; i < windows_.size(); ++i)
      if (axis_or(conv.strides, i, 1) != axis_or(largest.strides, i, 1)) return false;
    return !places_in(windows_, windows_of(node)).empty();
  }

  void add_convolution(const Node& node, const std::vector<double>& factors) {
    const std::vector<int64_t> places = places_in(windows_, windows_of(node));
    const Tensor& weights = *node.input(1)->constant();
    const auto taps = static_cast<int64_t>(places.size());
    const std::vector<double> bias = bias_of(node, weights_[0]);
    for (int64_t out = 0; out < weights_[0]; ++out) {
      for (int64_t in = 0; in < weights_[1]; ++in)
        for (int64_t tap = 0; tap < taps; ++tap)
          weight(out, in, places[tap]) +=
              factors[out] * weights.as_double((out * weights_[1] + in) * taps + tap);
      bias_[out] += factors[out] * bias[out];
    }
  }

  Node& largest_;
  const std::vector<KernelWindow> windows_;
  const Extents weights_;
  int64_t window_ = 1;
  std::vector<double> values_, bias_;
};

/// The convolution with the most weights: the others' windows can lie in no other one.
Node* largest_of(const Graph& graph, const Sum& sum) {
  Node* largest = nullptr;
  for (const Branch& branch : sum.branches) {
    Node* node = branch.value->producer();
    if (node == nullptr || !is_branch(graph, *node)) continue;
    if (largest == nullptr ||
        node->input(1)->constant()->count() > largest->input(1)->constant()->count())
      largest = node;
  }
  return largest;
}

bool is_sum_of_images(const Node& node) {
  if (!is_function(node, k_add) && !is_function(node, k_sub)) return false;
  const Shape& shape = node.output()->type.shape;
  return shape.size() >= 3 && shape[1].is_constant();
}

}  // namespace

bool merge_branches(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Node*> nodes = nodes_of(graph, is_sum_of_images);
  std::set<const Node*> gone;
  // The outermost sum of several takes them all.
  for (Node* node : nodes | std::views::reverse) {
    if (gone.contains(node) || !context.allows_fusion(*node)) continue;
    const Sum sum(graph, *node);
    Node* largest = largest_of(graph, sum);
    if (largest == nullptr || sum.branches.size() < 2 || !context.allows_fusion(*largest)) continue;
    Merged merged(*largest);
    if (!std::ranges::all_of(sum.branches,
                             [&](const Branch& branch) { return merged.takes(graph, branch); }))
      continue;
    context.applied(
        fmt::format("{} of {} branches is {}", node->name, sum.branches.size(), largest->name));
    merged.merge(graph, sum);
    for (const Node* part : sum.nodes) add_origins(*largest, *part), gone.insert(part);
    for (const Branch& branch : sum.branches)
      if (branch.value != largest->input(0)) add_origins(*largest, *branch.value->producer());
    stand_in(graph, *node, largest->output());
    changed = true;
  }
  return changed;
}

}  // namespace tenon
