// On a device without arithmetic in f16, networks of f16 compute in a wider type: constants are
// converted, inputs and outputs keep their type behind casts. Operators that look at the bits, make
// values of a type of their own, update caches where they lie or have bodies stay as they are,
// between casts. Must run before the patterns, so that they see the final nodes.
#include <algorithm>
#include <unordered_map>

#include "passes/casts.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

constexpr DataType kHalf = DataType::kFloat16;

bool stays(const Node& node) {
  return !node.bodies.empty() || node.is<BitCast>() || node.is<Plugin>() || node.is<Fill>() ||
         node.is<EyeLike>() || node.is<Random>() || node.is<Bernoulli>() ||
         node.is<Multinomial>() || node.is<Window>() || node.is<MelWeights>() || node.is<TfIdf>() ||
         node.is<TensorScatter>();
}

class Widening {
 public:
  Widening(Graph& graph, DataType target) : graph_(graph), target_(target) {}

  bool run() {
    for (Node* node : nodes_of(graph_))
      if (!node->is<Constant>()) visit(*node);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value* output = graph_.outputs()[i];
      Value* wanted = narrow(output);
      if (wanted == output) continue;
      wanted->name = output->name;
      output->name.clear();
      graph_.set_output(static_cast<int>(i), wanted);
    }
    return changed_;
  }

 private:
  void visit(Node& node) {
    const bool keep = stays(node);
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      Value* value = node.input(i);
      if (value == nullptr) continue;
      // A cast reads f16 as it is, and a widened value in the wider type.
      Value* wanted = keep ? narrow(value) : node.is<Cast>() ? value : wide(value);
      if (wanted != value) node.set_input(i, wanted);
    }
    if (keep || makes_half_for_others(node)) return;
    if (auto* cast = node.as<Cast>(); cast != nullptr && cast->to == kHalf) cast->to = target_;
    if (auto* op = node.as<Dequantize>(); op != nullptr && op->to == kHalf) op->to = target_;
    if (auto* op = node.as<Attention>(); op != nullptr && op->softmax_type == kHalf)
      op->softmax_type = DataType::kFloat32;
    for (Value* output : node.outputs()) {
      if (output->type.type != kHalf) continue;
      output->type.type = target_;
      narrow_.emplace(output, nullptr);
      changed_ = true;
    }
  }

  /// A cast to f16 for the graph's outputs and for operators that stay, which this pass leaves, or
  /// one that the network casts back itself: it asks for the rounding.
  bool makes_half_for_others(const Node& node) const {
    const auto* cast = node.as<Cast>();
    if (cast == nullptr || cast->to != kHalf) return false;
    const auto& uses = node.output()->uses();
    return std::ranges::all_of(uses, [](const Use& use) { return stays(*use.node); }) ||
           std::ranges::any_of(uses, [](const Use& use) { return use.node->is<Cast>(); });
  }

  /// The value in the wider type.
  Value* wide(Value* value) {
    if (value->type.type != kHalf) return value;
    Value*& result = wide_[value];
    if (result == nullptr) result = add_cast(graph_, value, target_);
    changed_ = true;
    return result;
  }

  /// The f16 value that a widened one stands for.
  Value* narrow(Value* value) {
    const auto found = narrow_.find(value);
    if (found == narrow_.end()) return value;
    if (found->second == nullptr) found->second = add_cast(graph_, value, kHalf);
    return found->second;
  }

  Graph& graph_;
  DataType target_;
  std::unordered_map<Value*, Value*> wide_;    ///< f16 values and their casts.
  std::unordered_map<Value*, Value*> narrow_;  ///< Widened values and their casts back.
  bool changed_ = false;
};

}  // namespace

bool widen_half(Graph& graph, PassContext& context) {
  if (!context.options().half_as.has_value()) return false;
  const bool changed = Widening(graph, *context.options().half_as).run();
  if (changed)
    context.logger().info("FP16 tensors are computed in {}: this device has no arithmetic in FP16",
                          name_of(*context.options().half_as));
  return changed;
}

}  // namespace tenon
