#include "api/inspector.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/ascii.h"
#include "base/printable.h"
#include "ops/ops.h"

namespace tenon::api {
namespace {

using Json = nlohmann::ordered_json;

/// What a layer is named after: of a region the operator that others are fused with.
const Node& anchor_of(const Node& node) {
  if (node.is<Fused>())
    for (const auto& inner : node.bodies[0]->nodes())
      if (!inner->is<Pointwise>() && !inner->is<Cast>() && !inner->is<Standardize>()) return *inner;
  return node;
}

Json tensor_json(const Value& value) {
  Json dims = Json::array();
  for (const Dim& dim : value.type.shape) dims.push_back(dim.is_constant() ? dim.constant() : -1);
  return {{"Name", value.name},
          {"Location", "Device"},
          {"Dimensions", dims},
          {"Format/Datatype", format_description(value.type)}};
}

/// Attributes as JSON members.
class JsonAttributes final : public AttributeVisitor {
 public:
  explicit JsonAttributes(Json& json) : json_(json) {}
  void visit(std::string_view name, bool& v) override { json_[std::string(name)] = v; }
  void visit(std::string_view name, int64_t& v) override { json_[std::string(name)] = v; }
  void visit(std::string_view name, double& v) override { json_[std::string(name)] = v; }
  void visit(std::string_view name, std::string& v) override { json_[std::string(name)] = v; }
  void visit(std::string_view name, tenon::DataType& v) override {
    json_[std::string(name)] = name_of(v);
  }
  void visit(std::string_view name, std::vector<int64_t>& v) override {
    json_[std::string(name)] = v;
  }
  void visit(std::string_view name, std::vector<double>& v) override {
    json_[std::string(name)] = v;
  }
  void visit(std::string_view name, std::vector<std::string>& v) override {
    json_[std::string(name)] = v;
  }
  void visit(std::string_view, Tensor&) override {}
  void visit_enum(std::string_view name, int& v, std::span<const std::string_view> names) override {
    json_[std::string(name)] = names[v];
  }

 private:
  Json& json_;
};

Json weights_json(const Value* value) {
  const Tensor* tensor = value == nullptr ? nullptr : value->constant();
  if (tensor == nullptr) return {{"Type", "Float"}, {"Count", 0}};
  return {{"Type", tensor->type() == tenon::DataType::kFloat32 ? "Float" : name_of(tensor->type())},
          {"Count", tensor->count()}};
}

/// The outer operand of an inner one.
const Value* outer(const Node& node, const Node& anchor, int index) {
  const Value* value = anchor.input(index);
  if (value == nullptr || &anchor == &node) return value;
  return value->producer() == nullptr ? node.input(value->index()) : nullptr;
}

void add_convolution(Json& json, const Node& node, const Node& anchor, const Conv& conv) {
  const Value* weights = outer(node, anchor, 1);
  Json kernel = Json::array();
  for (size_t i = 2; i < weights->type.shape.size(); ++i)
    kernel.push_back(weights->type.shape[i].constant());
  const std::vector<int64_t> ones(kernel.size(), 1), zeros(kernel.size(), 0);
  auto or_default = [](const std::vector<int64_t>& v, const std::vector<int64_t>& d) {
    return v.empty() ? d : v;
  };
  json["ParameterType"] = "Convolution";
  json["Kernel"] = kernel;
  json["PaddingMode"] = "kEXPLICIT_ROUND_DOWN";
  json["PrePadding"] = or_default(conv.pads_begin, zeros);
  json["PostPadding"] = or_default(conv.pads_end, zeros);
  json["Stride"] = or_default(conv.strides, ones);
  json["Dilation"] = or_default(conv.dilations, ones);
  json["OutMaps"] = weights->type.shape[0].constant();
  json["Groups"] = conv.groups;
  json["Weights"] = weights_json(weights);
  json["Bias"] = weights_json(outer(node, anchor, 2));
  std::string activation = "NONE";
  bool relu = false, residual = false;
  for (const auto& inner :
       node.is<Fused>() ? node.bodies[0]->nodes() : std::span<const std::unique_ptr<Node>>()) {
    const auto* step = inner->as<Pointwise>();
    if (step == nullptr) continue;
    relu |= step->function == PointwiseFunction::k_relu;
    residual |= step->function == PointwiseFunction::k_add;
    if (inner->inputs().size() == 1) activation = std::string(step->name());
  }
  for (char& c : activation) c = to_upper(c);
  json["HasBias"] = anchor.has_input(2) ? 1 : 0;
  json["HasReLU"] = relu ? 1 : 0;
  json["HasSparseWeights"] = 0;
  json["HasDynamicFilter"] = weights->constant() == nullptr ? 1 : 0;
  json["HasDynamicBias"] = 0;
  json["HasResidual"] = residual ? 1 : 0;
  json["ConvXAsActInputIdx"] = -1;
  json["BiasAsActInputIdx"] = -1;
  json["ResAsActInputIdx"] = -1;
  json["Activation"] = activation;
}

std::string metadata_of(const Node& node) {
  std::string text;
  for (const std::string& origin : node.origins)
    text += fmt::format("{}[ONNX Layer: {}]", text.empty() ? "" : "\x1e", origin);
  return text;
}

Json layer_json(const Node& node) {
  const Node& anchor = anchor_of(node);
  Json json;
  json["Name"] = node.name;
  json["LayerType"] =
      node.is<Fused>() ? fmt::format("Fused({})", anchor.op->name()) : std::string(node.op->name());
  if (anchor.is<Attention>()) json["LayerType"] = "mha";
  json["Inputs"] = Json::array();
  for (const Value* input : node.inputs())
    if (input != nullptr && input->constant() == nullptr)
      json["Inputs"].push_back(tensor_json(*input));
  json["Outputs"] = Json::array();
  for (const Value* output : node.outputs()) json["Outputs"].push_back(tensor_json(*output));
  if (const auto* conv = anchor.as<Conv>()) {
    add_convolution(json, node, anchor, *conv);
  } else {
    json["ParameterType"] = std::string(anchor.op->name());
    JsonAttributes attributes(json);
    anchor.op->visit_attributes(attributes);
  }
  json["TacticName"] = node.tactic;
  json["TacticValue"] =
      fmt::format("0x{:016x}", XXH3_64bits(node.tactic.data(), node.tactic.size()));
  json["StreamId"] = 0;
  json["Metadata"] = metadata_of(node);
  return json;
}

/// By verbosity: an object, the name, or nothing.
Json described(const Node& node, ProfilingVerbosity verbosity) {
  return verbosity == ProfilingVerbosity::kDETAILED ? layer_json(node) : Json(node.name);
}

/// Names may hold any bytes; what is not UTF-8 is replaced rather than refused.
std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string one_line(const Json& json) {
  return printable(json.is_string() ? json.get<std::string>() : text_of(json));
}

}  // namespace

std::vector<const Node*> layers_of(const Graph& graph) {
  std::vector<const Node*> layers;
  for (const auto& node : graph.nodes())
    if (!node->is<Constant>() && !node->is<tenon::Dims>()) layers.push_back(node.get());
  return layers;
}

const char* format_description(const TensorType& type) {
  const bool last = type.layout == Layout::kChannelsLast;
  switch (type.type) {
    case tenon::DataType::kFloat32:
      return last ? "Channel major FP32 format" : "Row major linear FP32";
    case tenon::DataType::kFloat16:
      return last ? "Channel major FP16 format" : "Row major linear FP16 format";
    case tenon::DataType::kBFloat16:
      return last ? "Channel major BF16 format" : "Row major linear BFloat16 format";
    case tenon::DataType::kInt8:
      return last ? "Channel major INT8 format" : "Row major Int8 format";
    case tenon::DataType::kInt32:
      return "Row major linear INT32 format";
    case tenon::DataType::kInt64:
      return "Row major linear INT64 format";
    case tenon::DataType::kBool:
      return "Row major linear BOOL";
    case tenon::DataType::kUInt8:
      return "Row major linear UInt8 format";
    default:
      return "Row major linear format";
  }
}

bool Inspector::setExecutionContext(const IExecutionContext* context) noexcept {
  context_ = context;
  return true;
}

const char* Inspector::getLayerInformation(int32_t index,
                                           LayerInformationFormat format) const noexcept {
  return engine_.reporter().guarded("getLayerInformation", "", [&] {
    const auto layers = layers_of(engine_.engine().graph());
    if (index < 0 || index >= static_cast<int32_t>(layers.size())) return "";
    const Json json = described(*layers[index], engine_.getProfilingVerbosity());
    text_ = format == LayerInformationFormat::kJSON ? text_of(json, 2) : one_line(json);
    return text_.c_str();
  });
}

const char* Inspector::getEngineInformation(LayerInformationFormat format) const noexcept {
  const ProfilingVerbosity verbosity = engine_.getProfilingVerbosity();
  Json layers = Json::array();
  if (verbosity != ProfilingVerbosity::kNONE)
    for (const Node* node : layers_of(engine_.engine().graph()))
      layers.push_back(described(*node, verbosity));
  Json bindings = Json::array();
  for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i)
    bindings.push_back(engine_.getIOTensorName(i));
  if (format == LayerInformationFormat::kJSON) {
    text_ = text_of({{"Layers", layers}, {"Bindings", bindings}}, 2);
    return text_.c_str();
  }
  text_ = "Layers:\n";
  for (const Json& layer : layers) text_ += one_line(layer) + "\n";
  text_ += "\nBindings:\n";
  for (const Json& binding : bindings) text_ += one_line(binding) + "\n";
  return text_.c_str();
}

}  // namespace tenon::api
