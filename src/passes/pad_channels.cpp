// Images between two convolutions whose channels are no multiple of 8 get more of them, by filters
// of zeros: tensor cores take channels in eights. All other readers get a slice, which is a view
// where images are channels-last. Must run behind lower_precision, since only convolutions of 16
// bits gain, and before fold_constants, which pads the weights, and before regions are made.
#include <map>
#include <set>

#include "base/arithmetic.h"
#include "ops/ops.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

constexpr int64_t kPiece = 8;  ///< Elements of 16 bits that are loaded at once.
/// Multiplications of a convolution that are worth a step more for the slice.
constexpr int64_t kLeastWork = int64_t{1} << 22;

/// Finite for all finite operands: results for more channels meet zeros without harm.
bool is_total(PointwiseFunction function) {
  switch (function) {
    case k_neg:
    case k_abs:
    case k_add:
    case k_sub:
    case k_mul:
    case k_max:
    case k_min:
    case k_relu:
    case k_leaky_relu:
    case k_prelu:
    case k_elu:
    case k_selu:
    case k_clip:
    case k_affine:
    case k_sigmoid:
    case k_hard_sigmoid:
    case k_hard_swish:
    case k_tanh:
    case k_erf:
    case k_swish:
    case k_gelu_erf:
    case k_gelu_tanh:
    case k_softplus:
    case k_mish: return true;
    default: return false;
  }
}

/// The channels of an image that has odd ones, else 0.
int64_t odd_channels(const Value* value) {
  if (value == nullptr || value->constant() != nullptr || !is_real(value->type.type) ||
      byte_size(value->type.type) != 2 || value->type.shape.size() < 3)
    return 0;
  const Dim& channels = value->type.shape[1];
  if (!channels.is_constant() || channels.constant() <= 0) return 0;
  return channels.constant() % kPiece == 0 ? 0 : channels.constant();
}

bool has_known_weights(const Node& node) {
  return node.input(1) != nullptr && node.input(1)->constant() != nullptr &&
         (!node.has_input(2) || node.input(2)->constant() != nullptr);
}

bool is_dense(const Node& node) {
  const auto* conv = node.as<Conv>();
  return conv != nullptr && conv->groups == 1 && has_known_weights(node);
}

/// A filter for each channel.
bool is_channelwise(const Node& node) {
  const auto* conv = node.as<Conv>();
  return conv != nullptr && conv->groups > 1 && has_known_weights(node) &&
         node.input(0)->type.shape[1] == Dim(conv->groups) &&
         node.output()->type.shape[1] == Dim(conv->groups);
}

/// A mean or the like of all pixels, which is finite for zeros.
bool reduces_pixels(const Node& node) {
  const auto* reduce = node.as<Reduce>();
  if (reduce == nullptr || !reduce->keep_dims || node.has_input(1) ||
      reduce->function == ReduceFunction::kLogSum)
    return false;
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  return !reduce->axes.empty() && std::ranges::all_of(reduce->axes, [&](int64_t axis) {
    return (axis < 0 ? axis + rank : axis) >= 2;
  });
}

/// Resizing by scales that leaves the channels as they are.
bool resizes_pixels(const Node& node) {
  const auto* resize = node.as<Resize>();
  if (resize == nullptr || !resize->axes.empty() || node.has_input(1) || node.has_input(3))
    return false;
  const Tensor* scales = node.has_input(2) ? node.input(2)->constant() : nullptr;
  return scales != nullptr && scales->as_double(1) == 1;
}

/// Each channel of the result follows from the same one of the image.
bool keeps_channels(const Node& node) {
  if (node.is<Pool>()) return node.outputs().size() == 1;
  return reduces_pixels(node) || resizes_pixels(node);
}

/// How an operand of a scalar function lies to the channels of its result.
enum class Alignment { kSame, kOne, kConstant, kOther };

Alignment alignment_of(const Value* operand, const Value* result) {
  const Shape &shape = operand->type.shape, &all = result->type.shape;
  const auto axis = static_cast<int64_t>(shape.size() + 1) - static_cast<int64_t>(all.size());
  if (axis < 0 || shape[axis] == Dim(1)) return Alignment::kOne;
  if (!(shape[axis] == all[1])) return Alignment::kOther;
  if (operand->constant() != nullptr) return Alignment::kConstant;
  return shape.size() == all.size() ? Alignment::kSame : Alignment::kOther;
}

/// Operands with the channels of the node's result, which go with it; nothing where others do not
/// let it.
std::optional<std::vector<int>> joined_operands(const Node& node) {
  if (is_channelwise(node) || keeps_channels(node))
    return node.input(0)->constant() == nullptr ? std::optional(std::vector<int>{0}) : std::nullopt;
  const auto* pointwise = node.as<Pointwise>();
  if (pointwise == nullptr || !is_total(pointwise->function)) return std::nullopt;
  std::vector<int> joined;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    const Alignment alignment = alignment_of(node.input(i), node.output());
    if (alignment == Alignment::kOther) return std::nullopt;
    if (alignment == Alignment::kSame) joined.push_back(i);
  }
  return joined;
}

/// Multiplications of a convolution; those of the least extents where they vary.
int64_t work_of(const Node& conv) {
  int64_t work = conv.input(1)->constant()->count();
  const Shape& shape = conv.output()->type.shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != 1)
      work = saturating_multiply(
          work, std::max<int64_t>(1, shape[i].range(conv.graph().symbol_ranges).min));
  return work;
}

/// Images that have their channels in common, and whether these may be more.
class ChannelPadding {
 public:
  ChannelPadding(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {
    for (const Value* input : graph.inputs()) refuse(input);
    for (const auto& node : graph.nodes()) visit(*node);
    // Tensor cores take channels in eights on both sides.
    for (const Node* node : dense_) {
      if (fits(node->input(0))) note_work(node->output(), work_of(*node));
      if (fits(node->output())) note_work(node->input(0), work_of(*node));
    }
  }

  /// True when it padded any.
  bool run() {
    const std::vector<Node*> nodes = nodes_of(graph_);
    std::vector<Value*> padded;
    for (Node* node : nodes)
      for (Value* value : node->outputs())
        if (is_padded(value)) padded.push_back(value);
    if (padded.empty()) return false;
    for (Node* node : nodes) widen(*node);
    for (Value* value : padded) leave(*value);
    for (Value* value : padded) value->type.shape[1] = Dim(round_up(odd_channels(value), kPiece));
    return true;
  }

 private:
  struct Group {
    bool refused = false;
    int64_t work = 0;
  };

  int root_of(const Value* value) {
    const auto [it, is_new] = places_.try_emplace(value, static_cast<int>(parents_.size()));
    if (is_new) {
      parents_.push_back(it->second);
      groups_.emplace_back();
    }
    int place = it->second;
    while (parents_[place] != place) place = parents_[place] = parents_[parents_[place]];
    return place;
  }
  void refuse(const Value* value) {
    if (odd_channels(value) != 0) groups_[root_of(value)].refused = true;
  }
  void join(const Value* a, const Value* b) {
    const int from = root_of(a), to = root_of(b);
    if (from == to) return;
    parents_[from] = to;
    groups_[to].refused |= groups_[from].refused;
    groups_[to].work = std::max(groups_[to].work, groups_[from].work);
  }
  /// Has channels in eights, or may have.
  bool fits(const Value* value) {
    const Dim& channels = value->type.shape[1];
    return (channels.is_constant() && channels.constant() % kPiece == 0) ||
           (odd_channels(value) != 0 && !groups_[root_of(value)].refused);
  }
  void note_work(const Value* value, int64_t work) {
    if (odd_channels(value) == 0) return;
    Group& group = groups_[root_of(value)];
    group.work = std::max(group.work, work);
  }

  void visit(const Node& node) {
    const bool allowed = context_.allows(node);
    if (allowed && is_dense(node)) {
      dense_.insert(&node);
      return;
    }
    for (const Value* output : node.outputs()) {
      if (odd_channels(output) == 0) continue;
      const auto joined = allowed ? joined_operands(node) : std::nullopt;
      if (!joined.has_value() || joined->empty()) {
        refuse(output);
        continue;
      }
      for (const int i : *joined) join(output, node.input(i));
    }
  }

  bool is_padded(const Value* value) {
    if (odd_channels(value) == 0 || !places_.contains(value)) return false;
    const Group& group = groups_[root_of(value)];
    return !group.refused && group.work >= kLeastWork;
  }

  /// An operand with zeros, which fold_constants computes, up to whole pieces along an axis.
  void pad(Node& node, int index, int64_t axis) {
    Value* value = node.input(index);
    const auto rank = static_cast<int64_t>(value->type.shape.size());
    const int64_t extent = value->type.shape[axis].constant();
    std::vector<int64_t> pads(2 * rank, 0);
    pads[rank + axis] = round_up(extent, kPiece) - extent;
    node.set_input(index, add_op(graph_, std::make_unique<Pad>(),
                                 {value, add_integers(graph_, std::move(pads))}, node));
  }

  /// Gives a node's constants as many channels as its operands and results will have.
  void widen(Node& node) {
    if (node.outputs().size() != 1) return;
    const bool dense = dense_.contains(&node);
    if (dense && is_padded(node.input(0))) pad(node, 1, 1);
    if (!is_padded(node.output())) return;
    if (auto* conv = node.as<Conv>()) {
      pad(node, 1, 0);
      if (node.has_input(2)) pad(node, 2, 0);
      if (!dense) conv->groups = round_up(conv->groups, kPiece);
    }
    if (!node.is<Pointwise>()) return;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const Shape& shape = node.input(i)->type.shape;
      if (alignment_of(node.input(i), node.output()) == Alignment::kConstant)
        pad(node, i,
            static_cast<int64_t>(shape.size() + 1) -
                static_cast<int64_t>(node.output()->type.shape.size()));
    }
  }

  /// Whether the use takes the channels that are more: a convolution's weights are zero there.
  bool goes_with(const Use& use) {
    const Node& node = *use.node;
    if (dense_.contains(&node)) return use.index == 0;
    if (node.outputs().size() != 1 || !is_padded(node.output())) return false;
    return !node.is<Pointwise>() ||
           alignment_of(node.input(use.index), node.output()) == Alignment::kSame;
  }

  /// Nodes that cannot read more channels read a slice.
  void leave(Value& value) {
    std::vector<Use> uses;
    for (const Use& use : value.uses())
      if (!goes_with(use)) uses.push_back(use);
    const bool is_output = graph_.is_output(&value);
    if (uses.empty() && !is_output) return;
    Value* slice = add_op(graph_, std::make_unique<Slice>(),
                          {&value, add_integers(graph_, {0}),
                           add_integers(graph_, {odd_channels(&value)}), add_integers(graph_, {1})},
                          *value.producer());
    slice->type = value.type;
    for (const Use& use : uses) use.node->set_input(use.index, slice);
    if (!is_output) return;
    std::swap(slice->name, value.name);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == &value) graph_.set_output(static_cast<int>(i), slice);
  }

  Graph& graph_;
  const PassContext& context_;
  std::map<const Value*, int> places_;
  std::vector<int> parents_;
  std::vector<Group> groups_;
  std::set<const Node*> dense_;
};

}  // namespace

bool pad_channels(Graph& graph, PassContext& context) {
  return ChannelPadding(graph, context).run();
}

}  // namespace tenon
