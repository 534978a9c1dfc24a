// Weak typing made explicit: with --fp16 or --bf16, the operators whose kernels gain from it
// compute on 16-bit tensors, with casts at the borders. Reductions, normalizations and softmax
// accumulate in f32 inside their kernels. Numbers beyond the range of the type become its largest,
// since an infinite mask times 0 would be NaN, and angles keep their type: 16 bits of a large one
// say nothing about its sine. With FP16 so do operators on numbers that were integers of 32 bits or
// more (sums of products of bytes, coordinates), and on computed scales. Afterwards the graph is
// strongly typed. Must run after the patterns (their constants are compared in f32) and before
// fusion.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ops/reals.h"
#include "passes/casts.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/quantized.h"

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
         node.is<SpaceToDepth>() || node.is<Tile>() || node.is<Identity>() || node.is<Rnn>() ||
         node.is<RotaryEmbedding>();
}

bool is_periodic(const Node& node) {
  return is_function(node, PointwiseFunction::k_sin) ||
         is_function(node, PointwiseFunction::k_cos) || is_function(node, PointwiseFunction::k_tan);
}

/// Sines and cosines, and nodes that only they read.
std::unordered_set<const Node*> angles_of(const Graph& graph) {
  std::unordered_set<const Node*> angles;
  const auto only_for_angles = [&](const Value* value) {
    return !value->uses().empty() && !graph.is_output(value) &&
           std::all_of(value->uses().begin(), value->uses().end(),
                       [&](const Use& use) { return angles.contains(use.node); });
  };
  const auto nodes = graph.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = *nodes[i];
    if (is_periodic(node) ||
        (!node.outputs().empty() &&
         std::all_of(node.outputs().begin(), node.outputs().end(), only_for_angles)))
      angles.insert(&node);
  }
  return angles;
}

/// The largest finite number of a 16-bit type.
double largest_of(DataType type) {
  return type == DataType::kFloat16 ? 65504.0 : 3.3895313892515355e38;
}

/// Masks are no larger than this; weights are not looked through.
constexpr int64_t kMaxMask = 1 << 22;
constexpr float kLargestFloat = std::numeric_limits<float>::max();

/// All weights are looked at: no branch in the loop.
bool exceeds(const Tensor& tensor, double largest) {
  if (tensor.count() > kMaxMask) return false;
  const Values<float> values(tensor);
  const auto limit = static_cast<float>(largest);
  int found = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const float size = std::abs(values[i]);
    found |= static_cast<int>(size > limit) & static_cast<int>(size <= kLargestFloat);
  }
  return found != 0;
}

/// Sums and places that were integers, and scales that are computed in the run: FP16's range and
/// digits are too few for them.
bool exceeds_half(const Value* value) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || node->outputs().empty()) return false;
  if (node->is<DynamicQuantize>()) return value != node->outputs()[0];
  const Value* source = node->is<Cast>() ? node->input(0) : nullptr;
  return source != nullptr &&
         (source->type.type == DataType::kInt32 || source->type.type == DataType::kInt64);
}

class Lowering {
 public:
  Lowering(Graph& graph, DataType usual) : graph_(graph), usual_(usual) {}

  bool run(PassContext& context) {
    const std::vector<Node*> nodes = nodes_of(graph_);
    const auto angles = angles_of(graph_);
    const auto is_lowered = [&](const Node& node) {
      return node.bodies.empty() && gains(node) && context.allows(node) && has_f32(node) &&
             !angles.contains(&node) && !(needs_range(node) && !context.type_of(node));
    };
    // Weights that stay quantized have the type that their products get.
    const auto follows = [&](const Node& node) {
      const auto uses = node.output()->uses();
      return gives_small_weights(graph_, node, context.options()) && has_f32(node) &&
             std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
               return is_lowered(*use.node) &&
                      context.type_of(*use.node) == context.type_of(*uses[0].node);
             });
    };
    for (Node* node : nodes) {
      const bool are_weights = node->is<Dequantize>() && follows(*node);
      const bool lower = are_weights || is_lowered(*node);
      const std::optional<DataType> own =
          context.type_of(are_weights ? *node->output()->uses()[0].node : *node);
      const DataType target = own.value_or(usual_);
      if (own && !lower && has_f32(*node) && context.allows(*node) && !node->is<Constant>())
        context.logger().warning("'{}' computes in {}, not in {}: {}", node->name,
                                 name_of(DataType::kFloat32), name_of(*own),
                                 angles.contains(node)
                                     ? "a sine or cosine takes its result, which needs all digits"
                                     : "its operator has no kernels for it");
      for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
        Value* value = node->input(i);
        if (value == nullptr) continue;
        // A cast reads a value as it is, though the value would be widened for other nodes.
        Value* wanted = lower && !keeps_operand(*node, i) ? low(value, target)
                        : node->is<Cast>()                ? value
                                                          : high(value);
        if (wanted != value) node->set_input(i, wanted);
      }
      if (!lower) continue;
      changed_ = true;
      for (Value* output : node->outputs()) {
        if (output->type.type != DataType::kFloat32) continue;
        lowered_.emplace(output, nullptr);
        output->type.type = target;
      }
      if (are_weights) node->as<Dequantize>()->to = target;
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
  bool needs_range(const Node& node) const {
    return usual_ == DataType::kFloat16 && std::ranges::any_of(node.inputs(), exceeds_half);
  }

  static bool has_f32(const Node& node) {
    return std::any_of(node.outputs().begin(), node.outputs().end(),
                       [](const Value* value) { return value->type.type == DataType::kFloat32; });
  }

  Value* low(Value* value, DataType target) {
    const bool is_other = value->type.type != target && lowered_.contains(value);
    if (value->type.type != DataType::kFloat32 && !is_other) return value;
    Value*& result = low_[{value, target}];
    if (result == nullptr) result = add_cast(graph_, within_range(value, target), target);
    return result;
  }

  /// A constant without finite numbers that the type makes infinite.
  Value* within_range(Value* value, DataType target) {
    const Tensor* tensor = value->constant();
    const double largest = largest_of(target);
    if (tensor == nullptr || !exceeds(*tensor, largest)) return value;
    Tensor clamped(tensor->type(), tensor->extents());
    for (int64_t i = 0; i < tensor->count(); ++i) {
      const double x = tensor->as_double(i);
      clamped.set_from_double(i, std::isfinite(x) ? std::clamp(x, -largest, largest) : x);
    }
    Value* constant = graph_.add_constant(std::move(clamped), value->name);
    constant->type = value->type;
    return constant;
  }

  Value* high(Value* value) {
    const auto found = lowered_.find(value);
    if (found == lowered_.end()) return value;
    if (found->second == nullptr) found->second = add_cast(graph_, value, DataType::kFloat32);
    return found->second;
  }

  Graph& graph_;
  DataType usual_;
  std::map<std::pair<Value*, DataType>, Value*> low_;  ///< Values and their casts to 16-bit types.
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
