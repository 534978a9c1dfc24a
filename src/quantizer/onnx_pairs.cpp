#include "quantizer/onnx_pairs.h"

#include <set>

#include "quantizer/quantize_weights.h"
#include "quantizer/raise_opset.h"

namespace tenon {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;

/// The first version of the operators that has the mode's types, scales of channels, and scales of
/// 16 bits.
int64_t needed_opset(QuantizeMode mode, bool has_halves) {
  if (mode == QuantizeMode::kInt4) return 21;
  return mode == QuantizeMode::kFp8 || has_halves ? 19 : 13;
}

/// Of the tensors that are quantized.
Result<bool> has_halves(const OnnxModel& model, const std::vector<OnnxLayer>& layers) {
  for (const OnnxLayer& layer : layers) {
    if (!layer.refusal.empty()) continue;
    TENON_ASSIGN(const Tensor weights, model.constant(model.graph().node(layer.node).input(1)));
    if (weights.type() != DataType::kFloat32) return true;
  }
  return false;
}

void set_integer(NodeProto& node, const char* name, int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

Tensor zeros(DataType type, const Extents& extents) {
  Tensor tensor(type, extents);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_double(i, 0);
  return tensor;
}

class Rewriter {
 public:
  Rewriter(OnnxModel& model, const OnnxTypes& types, const std::map<std::string, float>& ranges,
           const QuantizeSettings& settings)
      : model_(model),
        types_(types),
        ranges_(ranges),
        settings_(settings),
        type_(quantized_type(settings.mode)) {
    for (const NodeProto& node : model_.graph().node())
      names_.insert(node.output().begin(), node.output().end());
    for (const auto& tensor : model_.graph().initializer()) names_.insert(tensor.name());
    for (const auto& input : model_.graph().input()) names_.insert(input.name());
  }

  Status run(const std::vector<OnnxLayer>& layers, const std::vector<OnnxPair>& pairs) {
    std::map<int, const OnnxLayer*> by_node;
    for (const OnnxLayer& layer : layers)
      if (layer.refusal.empty()) by_node[layer.node] = &layer;
    std::multimap<int, int> reads;
    for (const OnnxPair& pair : pairs) reads.emplace(pair.node, pair.input);
    ::google::protobuf::RepeatedPtrField<NodeProto> old;
    old.Swap(model_.graph().mutable_node());
    for (int i = 0; i < old.size(); ++i) {
      NodeProto& node = *old.Mutable(i);
      if (const auto layer = by_node.find(i); layer != by_node.end())
        TENON_TRY(quantize_weights_of(node, *layer->second));
      const auto [first, last] = reads.equal_range(i);
      if (settings_.mode != QuantizeMode::kInt4)
        for (auto read = first; read != last; ++read) read_rounded(node, read->second);
      *model_.graph().add_node() = std::move(node);
    }
    model_.drop_unused();
    return {};
  }

 private:
  /// A name that the model does not have.
  std::string fresh(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  NodeProto& add_node(const char* op_type, const std::vector<std::string>& inputs,
                      const std::string& output) {
    NodeProto& node = *model_.graph().add_node();
    node.set_op_type(op_type);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  std::string initializer(const std::string& name, const Tensor& tensor) {
    const std::string unique = fresh(name);
    model_.add_initializer(unique, tensor);
    return unique;
  }

  /// Layers that share weights and lie the same way share their results.
  Status quantize_weights_of(NodeProto& node, const OnnxLayer& layer) {
    const std::string name = node.input(1);
    std::string& rounded = weights_[{name, layer.channel_axis}];
    if (rounded.empty()) {
      TENON_ASSIGN(const Tensor weights, model_.constant(name));
      rounded = add_weights(name, weights, layer);
    }
    node.set_input(1, rounded);
    return {};
  }

  std::string add_weights(const std::string& name, const Tensor& weights, const OnnxLayer& layer) {
    const bool blocks = settings_.mode == QuantizeMode::kInt4;
    const bool channels = settings_.per_channel;
    const QuantizedWeights quantized =
        blocks ? quantize_blocks(weights, layer.sum_axis, settings_.block_size)
               : quantize_weights(weights, type_, channels ? layer.channel_axis : -1);
    const std::string output = fresh(name + "_DequantizeLinear_Output");
    NodeProto& node =
        add_node("DequantizeLinear",
                 {initializer(name + "_quantized", quantized.numbers),
                  initializer(name + "_scale", quantized.scales),
                  initializer(name + "_zero_point", zeros(type_, quantized.scales.extents()))},
                 output);
    if (blocks) {
      set_integer(node, "axis", layer.sum_axis);
      set_integer(node, "block_size", settings_.block_size);
    } else if (channels) {
      set_integer(node, "axis", layer.channel_axis);
    }
    return output;
  }

  void read_rounded(NodeProto& node, int input) {
    const std::string name = node.input(input);
    const auto range = ranges_.find(name);
    if (range == ranges_.end()) return;
    std::string& rounded = activations_[name];
    if (rounded.empty()) {
      const auto type = types_.find(name);
      Tensor scale(type == types_.end() ? DataType::kFloat32 : type->second.type, {});
      const auto wanted = static_cast<float>(range->second / largest_quantized(type_));
      set_scale(scale, 0, wanted > 0 ? wanted : 1.0F);
      const std::vector<std::string> numbers = {
          initializer(name + "_scale", scale), initializer(name + "_zero_point", zeros(type_, {}))};
      const std::string bytes = fresh(name + "_QuantizeLinear_Output");
      rounded = fresh(name + "_DequantizeLinear_Output");
      add_node("QuantizeLinear", {name, numbers[0], numbers[1]}, bytes);
      add_node("DequantizeLinear", {bytes, numbers[0], numbers[1]}, rounded);
    }
    node.set_input(input, rounded);
  }

  OnnxModel& model_;
  const OnnxTypes& types_;
  const std::map<std::string, float>& ranges_;
  const QuantizeSettings& settings_;
  DataType type_;
  std::set<std::string> names_;
  std::map<std::pair<std::string, int64_t>, std::string> weights_;
  std::map<std::string, std::string> activations_;
};

}  // namespace

DataType quantized_type(QuantizeMode mode) {
  if (mode == QuantizeMode::kInt4) return DataType::kInt4;
  return mode == QuantizeMode::kFp8 ? DataType::kFloat8E4M3 : DataType::kInt8;
}

Status raise_versions(OnnxModel& model, const std::vector<OnnxLayer>& layers,
                      const OnnxTypes& types, const QuantizeSettings& settings) {
  TENON_ASSIGN(const bool halves, has_halves(model, layers));
  const int64_t needed = needed_opset(settings.mode, halves);
  // IR 4: before, initializers had to be inputs as well.
  model.raise_ir_version(needed == 13 ? 4 : needed == 19 ? 9 : 10);
  return raise_opset(model, needed, types);
}

Result<OnnxModel> with_pairs(const OnnxModel& model, const std::vector<OnnxLayer>& layers,
                             const std::vector<OnnxPair>& pairs, const OnnxTypes& types,
                             const std::map<std::string, float>& ranges,
                             const QuantizeSettings& settings) {
  OnnxModel result = model.copy();
  TENON_TRY(Rewriter(result, types, ranges, settings).run(layers, pairs));
  return result;
}

}  // namespace tenon
