// Convolutions and products of dequantized bytes become regions that are computed in 8-bit numbers:
// the dequantization of both operands, the product, what follows it (bias, activation, a residual
// that is dequantized on the way) and, where there is one, the quantization of the result. A pair
// of quantization and dequantization inside the chain stays where it rounds, and so does one at its
// end that normalization or softmax reads. So do products of rows of reals with weights of 4 or 8
// bits, without any quantization behind. Must run after the propagation of quantization, before
// fuse_epilogue and lower_precision, and once more between these two, for rows of 16 bits.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/epilogue_rule.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// Longer chains are left to other regions.
constexpr size_t kMaxSteps = 12;

class Chain {
 public:
  Chain(Graph& graph, const PassContext& context, Node& anchor)
      : graph_(graph),
        context_(context),
        rounds_(can_anchor_quantized(anchor, context.options())),
        steps_{&anchor},
        running_(anchor.output()) {}

  /// Follows the only user as long as kernels can.
  void grow() {
    while (steps_.size() <= kMaxSteps && take_next()) {
    }
    if (Node* last = rounds_ ? nullptr : widening_step(graph_, running_, context_))
      steps_.push_back(last);
    // The steps behind the last quantization work on floats.
    if (end_ > 0) steps_.resize(end_ + (is_for_reals() ? 1 : 0));
  }

  const std::vector<Node*>& steps() const { return steps_; }
  /// Dequantizations of the anchor's operands and of residuals come first.
  std::vector<Node*> members() const;
  bool rounds() const { return rounds_; }

 private:
  bool take_next() {
    Node* next = only_user(graph_, running_);
    if (next == nullptr || !context_.allows_fusion(*next)) return false;
    if (!rounds_ && !next->is<Pointwise>()) return false;
    if (next->is<Quantize>()     ? !take_quantize(*next)
        : next->is<Dequantize>() ? !take_dequantize(*next)
                                 : !take_pointwise(*next))
      return false;
    running_ = next->output();
    return true;
  }

  bool take_quantize(Node& node) {
    const PassOptions& options = context_.options();
    if (!is_per_tensor(node) || !is_multiplied(quantized_type(node), options) ||
        node.input(0) != running_ || !is_region_real(node.input(0)->type.type, options))
      return false;
    steps_.push_back(&node);
    end_ = steps_.size();
    return true;
  }

  bool take_dequantize(Node& node) {
    if (per_tensor_bytes(node.output(), context_.options()) == nullptr ||
        node.input(0) != running_ || !same_scaling(*steps_.back(), node) || is_for_another(node))
      return false;
    steps_.push_back(&node);
    return true;
  }

  /// The sum behind adds the result of another anchor that nothing rounds: that anchor adds these
  /// bytes, and its own result is not written as reals.
  bool is_for_another(const Node& dequantize) const {
    const Node* sum = only_user(graph_, dequantize.output());
    const auto* op = sum == nullptr ? nullptr : sum->as<Pointwise>();
    if (op == nullptr || op->function != PointwiseFunction::k_add) return false;
    const Value* other = sum->input(sum->input(0) == dequantize.output() ? 1 : 0);
    while (other != dequantize.output() && only_user(graph_, other) != nullptr &&
           other->producer() != nullptr) {
      const Node& node = *other->producer();
      if (can_anchor_quantized(node, context_.options())) return context_.allows_fusion(node);
      if (!node.is<Pointwise>() || !context_.allows_fusion(node)) return false;
      other = node.input(0);
    }
    return false;
  }

  /// A reader of the numbers behind the last quantization has kernels for reals alone: a result in
  /// bytes would be dequantized by a step of its own.
  bool is_for_reals() const {
    if (steps_.size() <= end_ || !steps_[end_]->is<Dequantize>()) return false;
    const Value* reals = steps_[end_]->output();
    const auto uses = reals->uses();
    return !uses.empty() && !graph_.is_output(reals) &&
           std::all_of(uses.begin(), uses.end(), [](const Use& use) {
             return use.node->is<Normalization>() || use.node->is<Softmax>();
           });
  }

  bool take_pointwise(Node& node) {
    const auto* pointwise = node.as<Pointwise>();
    const TensorType& type = node.output()->type;
    if (pointwise == nullptr || node.inputs().size() > 2 || type.type != running_->type.type ||
        type.shape != running_->type.shape)
      return false;
    const PointwiseClass category = pointwise_info(pointwise->function).category;
    if (category != PointwiseClass::arithmetic && category != PointwiseClass::real) return false;
    for (const Value* input : node.inputs())
      if (input != running_ && !fits(*input, type.shape)) return false;
    steps_.push_back(&node);
    return true;
  }

  /// Another operand of a step: like the output, or constants of one number, in all or a channel.
  bool fits(const Value& operand, const Shape& output) const {
    if (operand.type.type != running_->type.type) return false;
    if (operand.type.shape == output) return true;
    if (operand.constant() == nullptr) return false;
    const int64_t count = operand.constant()->count();
    if (count == 1) return true;
    const size_t axis = steps_[0]->is<Conv>() ? 1 : output.size() - 1,
                 rank = operand.type.shape.size();
    if (rank + axis < output.size()) return false;
    const Dim& along = operand.type.shape[rank + axis - output.size()];
    return along == output[axis] && along == Dim(count);
  }

  Graph& graph_;
  const PassContext& context_;
  const bool rounds_;         ///< Its activations are quantized.
  std::vector<Node*> steps_;  ///< The anchor first.
  size_t end_ = 0;            ///< Behind the last quantization.
  Value* running_;
};

std::vector<Node*> Chain::members() const {
  std::vector<Node*> members;
  if (rounds_) members.push_back(own_copy(graph_, *steps_[0], 0));
  members.push_back(own_copy(graph_, *steps_[0], 1));
  const Value* running = steps_[0]->output();
  for (size_t i = 1; i < steps_.size() && rounds_; ++i) {
    Node& step = *steps_[i];
    if (step.is<Pointwise>())
      for (int k = 0; k < static_cast<int>(step.inputs().size()); ++k)
        if (step.input(k) != running &&
            per_tensor_bytes(step.input(k), context_.options()) != nullptr &&
            step.input(k)->type.shape == step.output()->type.shape)
          members.push_back(own_copy(graph_, step, k));
    running = step.output();
  }
  members.insert(members.end(), steps_.begin(), steps_.end());
  return members;
}

/// "conv1 + add + relu": as without quantization, since its nodes carry generated names.
std::string region_name(const std::vector<Node*>& steps) {
  std::string name;
  for (const Node* step : steps)
    if (!step->is<Quantize>() && !step->is<Dequantize>())
      name += (name.empty() ? "" : " + ") + step->name;
  return name;
}

/// A product with small weights, once its rows have the type that lower_precision gives them.
bool anchors_small_weights(const Graph& graph, const Node& node, const PassContext& context) {
  const PassOptions& options = context.options();
  if (!multiplies_small_weights(graph, node, options)) return false;
  if (!options.precision) return true;
  const DataType rows = context.type_of(node).value_or(*options.precision);
  return rows == node.input(0)->type.type ||
         !multiplies_small_weights_in(rows, graph, node, options);
}

}  // namespace

bool fuse_quantized(Graph& graph, PassContext& context) {
  const std::vector<Node*> anchors = fusible_nodes(graph, context, [&](const Node& node) {
    return can_anchor_quantized(node, context.options()) ||
           anchors_small_weights(graph, node, context);
  });
  // From the back: where two anchors meet in a sum, the later one takes it.
  return for_each_from_back(anchors, [&](Node& anchor) {
    Chain chain(graph, context, anchor);
    chain.grow();
    const std::string name = region_name(chain.steps());
    make_region(graph, chain.members(), name);
    return context.applied(name +
                           (chain.rounds() ? " in 8-bit numbers" : " with quantized weights"));
  });
}

}  // namespace tenon
