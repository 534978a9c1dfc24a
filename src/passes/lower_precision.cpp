// Weak typing made explicit: with --fp16 or --bf16, the operators whose kernels gain from it
// compute on 16-bit tensors, with casts at the borders. Reductions, normalizations and softmax
// accumulate in f32 inside their kernels. Afterwards the graph is strongly typed. Must run after
// the patterns (their constants are compared in f32) and before fusion.
#include <algorithm>
#include <unordered_map>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Operators that only move real numbers, or that have 16-bit kernels.
bool gains(const Node& node) {
  if (const auto* pointwise = node.as<Pointwise>()) {
    const PointwiseClass category = pointwise_info(pointwise->function).category;
    return category == PointwiseClass::arithmetic || category == PointwiseClass::real ||
           category == PointwiseClass::choose;
  }
  return node.is<Conv>() || node.is<Deconv>() || node.is<MatMul>() || node.is<Attention>() ||
         node.is<Softmax>() || node.is<Normalization>() || node.is<Pool>() || node.is<Reduce>() ||
         node.is<Resize>() || node.is<Concat>() || node.is<Split>() || node.is<Slice>() ||
         node.is<Transpose>() || node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() ||
         node.is<Unsqueeze>() || node.is<Expand>() || node.is<Gather>() || node.is<Pad>() ||
         node.is<GatherElements>() || node.is<GatherNd>() || node.is<DepthToSpace>() ||
         node.is<SpaceToDepth>() || node.is<Tile>() || node.is<Identity>() || node.is<Rnn>();
}

/// Operands that must keep their type: scales of a resize, regions.
bool keeps_operand(const Node& node, int index) {
  return node.is<Resize>() && index > 0;
}

class Lowering {
 public:
  Lowering(Graph& graph, DataType target) : graph_(graph), target_(target) {}

  bool run(const PassContext& context) {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) {
      const bool lower =
          node->bodies.empty() && gains(*node) && context.allows(*node) && has_f32(*node);
      for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
        Value* value = node->input(i);
        if (value == nullptr) continue;
        Value* wanted = lower && !keeps_operand(*node, i) ? low(value) : high(value);
        if (wanted != value) node->set_input(i, wanted);
      }
      if (!lower) continue;
      changed_ = true;
      for (Value* output : node->outputs()) {
        if (output->type.type != DataType::kFloat32) continue;
        lowered_.emplace(output, nullptr);
        output->type.type = target_;
      }
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value* output = graph_.outputs()[i];
      Value* wanted = high(output);
      if (wanted == output) continue;
      wanted->name = output->name;
      graph_.set_output(static_cast<int>(i), wanted);
    }
    return changed_;
  }

 private:
  static bool has_f32(const Node& node) {
    return std::any_of(node.outputs().begin(), node.outputs().end(),
                       [](const Value* value) { return value->type.type == DataType::kFloat32; });
  }

  Value* low(Value* value) {
    if (value->type.type != DataType::kFloat32) return value;
    Value*& result = low_[value];
    if (result == nullptr) result = cast(value, target_);
    return result;
  }

  Value* high(Value* value) {
    const auto found = lowered_.find(value);
    if (found == lowered_.end()) return value;
    if (found->second == nullptr) found->second = cast(value, DataType::kFloat32);
    return found->second;
  }

  Value* cast(Value* value, DataType type) {
    Node* node = graph_.add_node(std::make_unique<Cast>(type), {value}, 1,
                                 fmt::format("cast({})", value->name));
    if (value->producer() != nullptr) node->origins = value->producer()->origins;
    node->output()->type = value->type;
    node->output()->type.type = type;
    return node->output();
  }

  Graph& graph_;
  DataType target_;
  std::unordered_map<Value*, Value*> low_;  ///< f32 values and their 16-bit casts.
  std::unordered_map<Value*, Value*>
      lowered_;  ///< Values computed in 16 bit, and their casts back.
  bool changed_ = false;
};

}  // namespace

bool lower_precision(Graph& graph, PassContext& context) {
  if (!context.options().precision.has_value()) return false;
  return Lowering(graph, *context.options().precision).run(context);
}

}  // namespace tenon
