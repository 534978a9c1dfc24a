#include "quantizer/onnx_layers.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

namespace tenon {
namespace {

using ::onnx::NodeProto;

int64_t integer(const NodeProto& node, const char* name, int64_t otherwise) {
  for (const auto& one : node.attribute())
    if (one.name() == name) return one.i();
  return otherwise;
}

std::string name_of(const NodeProto& node) {
  if (!node.name().empty() || node.output_size() == 0) return node.name();
  return "node_of_" + node.output(0);
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return pattern == name || std::regex_match(name, std::regex(pattern));
  });
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

/// The settings' objection to it, or nothing.
std::string left_out(const OnnxLayer& layer, const QuantizeSettings& settings) {
  if (!settings.op_types.empty() && !contains(settings.op_types, layer.op_type))
    return "its type is not among --op_types_to_quantize";
  if (contains(settings.op_types_left_out, layer.op_type))
    return "its type is among --op_types_to_exclude";
  if (!settings.nodes.empty() && !matches_any(settings.nodes, layer.name))
    return "it is not among --nodes_to_quantize";
  if (matches_any(settings.nodes_left_out, layer.name)) return "it is among --nodes_to_exclude";
  return {};
}

/// A DequantizeLinear gives it, maybe behind a transposition.
bool is_dequantized(const OnnxModel& model, const std::string& name) {
  for (const NodeProto& node : model.graph().node()) {
    if (std::ranges::find(node.output(), name) == node.output().end()) continue;
    if (node.op_type() == "Transpose") return is_dequantized(model, node.input(0));
    return node.op_type() == "DequantizeLinear";
  }
  return false;
}

bool is_finite(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(tensor.as_double(i))) return false;
  return true;
}

int64_t count_layers(const ::onnx::GraphProto& graph) {
  int64_t count = 0;
  for (const NodeProto& node : graph.node()) {
    count += has_weights(node) ? 1 : 0;
    for (const auto& one : node.attribute()) count += one.has_g() ? count_layers(one.g()) : 0;
  }
  return count;
}

/// The obstacle for kernels to compute it so, or nothing.
std::string refusal(const OnnxModel& model, const NodeProto& node,
                    const QuantizeSettings& settings) {
  if (is_dequantized(model, node.input(0)) || is_dequantized(model, node.input(1)))
    return "it is quantized already";
  if (!model.is_constant(node.input(1)))
    return model.is_constant(node.input(0)) ? "its weights are the first operand"
                                            : "its weights are not constant";
  if (model.is_constant(node.input(0))) return "both its operands are constant";
  const Result<Tensor> weights = model.constant(node.input(1));
  if (!weights.ok()) return weights.error().message;
  if (!is_real(weights->type()) || byte_size(weights->type()) > 4 || byte_size(weights->type()) < 2)
    return fmt::format("its weights are {}: quantize the model in f32, f16 or bf16",
                       tenon::name_of(weights->type()));
  const bool conv = node.op_type() == "Conv";
  if (!conv && weights->rank() != 2) return "its weights are not one matrix";
  if (settings.mode == QuantizeMode::kInt4 && conv)
    return "weights of 4 bits are for matrix products";
  if (integer(node, "group", 1) != 1 && !settings.groups)
    return "kernels for 8 bits on GPUs have no groups (--device=cpu)";
  if (integer(node, "transA", 0) != 0) return "its first operand is transposed";
  if (weights->count() == 0) return "its weights are empty";
  if (!is_finite(*weights)) return "its weights have numbers that are not finite";
  return {};
}

bool is_pointwise(const std::string& op) {
  static const std::set<std::string> kNames = {
      "Add",   "Sub",  "Mul",  "Div",  "Relu",    "Clip",        "LeakyRelu",
      "PRelu", "Elu",  "Gelu", "Tanh", "Sigmoid", "HardSigmoid", "HardSwish",
      "Neg",   "Sqrt", "Erf",  "Exp",  "Abs",     "Identity",    "BatchNormalization"};
  return kNames.contains(op);
}

/// Operators whose results hold numbers of their operands alone; resizes where they choose the
/// nearest.
bool is_move(const NodeProto& node) {
  static const std::set<std::string> kNames = {
      "Concat",  "Split",   "Slice",     "MaxPool",      "Reshape",      "Transpose",
      "Flatten", "Squeeze", "Unsqueeze", "DepthToSpace", "SpaceToDepth", "Identity"};
  if (node.op_type() != "Resize" && node.op_type() != "Upsample")
    return kNames.contains(node.op_type());
  for (const auto& one : node.attribute())
    if (one.name() == "mode") return one.s() == "nearest";
  return true;
}

class Describer {
 public:
  Describer(const OnnxModel& model, const OnnxTypes& types) : model_(model), types_(types) {}

  PlacedOp describe(const NodeProto& node, bool product) {
    PlacedOp op;
    slots.emplace_back();
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty() || model_.is_constant(node.input(i))) continue;
      op.inputs.push_back(number_of(node.input(i)));
      slots.back().push_back(i);
    }
    for (const std::string& output : node.output()) op.outputs.push_back(number_of(output));
    if (product)
      op.role = PlacedRole::kProduct;
    else if (is_move(node))
      op.role = PlacedRole::kMove;
    else if (op.inputs.size() == 1 && is_pointwise(node.op_type()))
      op.role = PlacedRole::kPointwise;
    else if (op.inputs.size() == 2 && node.op_type() == "Mul" && same_shapes(node))
      op.role = PlacedRole::kPointwise;
    else if (op.inputs.size() == 2 && node.op_type() == "Add" && same_shapes(node))
      op.role = PlacedRole::kSum;
    return op;
  }

  std::vector<PlacedOp> describe_all(const std::set<int>& products) {
    std::vector<PlacedOp> ops;
    for (int i = 0; i < model_.graph().node_size(); ++i)
      ops.push_back(describe(model_.graph().node(i), products.contains(i)));
    return ops;
  }

  std::vector<std::vector<int>> slots;  ///< Of each operator's computed operands.
  std::vector<std::string> names;       ///< Of tensors.

 private:
  int number_of(const std::string& name) {
    const auto [found, is_new] = numbers_.try_emplace(name, static_cast<int>(names.size()));
    if (is_new) names.push_back(name);
    return found->second;
  }
  bool same_shapes(const NodeProto& node) const {
    const auto a = types_.find(node.input(0)), b = types_.find(node.input(1));
    return a != types_.end() && b != types_.end() && a->second.shape == b->second.shape;
  }

  const OnnxModel& model_;
  const OnnxTypes& types_;
  std::map<std::string, int> numbers_;
};

}  // namespace

std::vector<OnnxLayer> find_layers(const OnnxModel& model, const QuantizeSettings& settings) {
  std::vector<OnnxLayer> layers;
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const NodeProto& node = model.graph().node(i);
    if (!has_weights(node)) continue;
    OnnxLayer layer{i, name_of(node), node.op_type()};
    const bool transposed = node.op_type() == "Gemm" && integer(node, "transB", 0) != 0;
    if (node.op_type() != "Conv" && !transposed) std::swap(layer.channel_axis, layer.sum_axis);
    layer.refusal = left_out(layer, settings);
    if (layer.refusal.empty()) layer.refusal = refusal(model, node, settings);
    layers.push_back(std::move(layer));
  }
  return layers;
}

int64_t count_inner_layers(const OnnxModel& model) {
  return count_layers(model.graph()) -
         std::ranges::count_if(model.graph().node(),
                               [](const auto& node) { return has_weights(node); });
}

int64_t count_function_layers(const OnnxModel& model) {
  int64_t count = 0;
  for (const auto& function : model.proto()->functions())
    count += std::ranges::count_if(function.node(), has_weights);
  return count;
}

std::vector<std::string> unmatched_types(const std::vector<OnnxLayer>& layers,
                                         const QuantizeSettings& settings) {
  std::vector<std::string> unmatched;
  for (const auto* types : {&settings.op_types, &settings.op_types_left_out})
    for (const std::string& type : *types)
      if (std::ranges::find(layers, type, &OnnxLayer::op_type) == layers.end())
        unmatched.push_back(type);
  return unmatched;
}

std::vector<std::string> unmatched_patterns(const std::vector<OnnxLayer>& layers,
                                            const QuantizeSettings& settings) {
  std::vector<std::string> unmatched;
  for (const auto* patterns : {&settings.nodes, &settings.nodes_left_out})
    for (const std::string& pattern : *patterns)
      if (std::ranges::none_of(
              layers, [&](const OnnxLayer& layer) { return matches_any({pattern}, layer.name); }))
        unmatched.push_back(pattern);
  return unmatched;
}

std::vector<OnnxPair> place_pairs(const OnnxModel& model, const std::vector<OnnxLayer>& layers,
                                  const OnnxTypes& types) {
  std::set<int> products;
  for (const OnnxLayer& layer : layers)
    if (layer.refusal.empty()) products.insert(layer.node);
  Describer describer(model, types);
  std::vector<OnnxPair> pairs;
  for (const PlacedPair& pair : place_quantization(describer.describe_all(products)))
    pairs.push_back(
        {pair.op, describer.slots[static_cast<size_t>(pair.op)][static_cast<size_t>(pair.input)]});
  return pairs;
}

void share_ranges(const OnnxModel& model, const std::vector<OnnxPair>& pairs,
                  const OnnxTypes& types, std::map<std::string, float>& ranges) {
  std::set<std::string> quantized;
  for (const OnnxPair& pair : pairs)
    quantized.insert(model.graph().node(pair.node).input(pair.input));
  Describer describer(model, types);
  for (const std::vector<int>& together : moved_together(describer.describe_all({}))) {
    std::vector<float*> shared;
    float largest = 0;
    for (const int tensor : together) {
      const std::string& name = describer.names[static_cast<size_t>(tensor)];
      const auto range = ranges.find(name);
      if (range == ranges.end() || !quantized.contains(name)) continue;
      shared.push_back(&range->second);
      largest = std::max(largest, range->second);
    }
    for (float* range : shared) *range = largest;
  }
}

}  // namespace tenon
