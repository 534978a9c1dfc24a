#include "api/integer_plugins.h"

#include <optional>

#include "api/calibration.h"
#include "api/lower_plugins.h"
#include "network/convert.h"
#include "network/plugin_formats.h"
#include "network/scaling.h"
#include "ops/math.h"
#include "ops/structure.h"
#include "passes/casts.h"
#include "plugin/instance.h"
#include "quantizer/graph_scales.h"

namespace tenon::api {
namespace {

using network::Scaling;
using plugin::OperandType;

bool is_plain_real(tenon::DataType type) {
  return type == tenon::DataType::kFloat32 || type == tenon::DataType::kFloat16 ||
         type == tenon::DataType::kBFloat16;
}

/// The scale without a zero point, if it is known.
std::optional<double> number_of(const Scaling& scaling) {
  const Tensor* scale = network::number_of(scaling.scale);
  if (scale == nullptr) return std::nullopt;
  const Tensor* zero = network::number_of(scaling.zero);
  if (scaling.zero != nullptr && (zero == nullptr || zero->as_double(0) != 0)) return std::nullopt;
  return scale->as_double(0);
}

/// An operand of a plugin, and its scale in 8 bits where that is known.
struct Place {
  Value* value;                        ///< That the plugin reads or writes.
  Value* named;                        ///< That one or, beyond a cast, the one that ranges go by.
  Value* bytes = nullptr;              ///< Of an input: in 8 bits, where the graph has it.
  std::vector<Node*> quantizers = {};  ///< Of an output: its readers, where they all are these.
  std::optional<double> scale = {};
};

Place input_place(Value& value) {
  Place place{&value, &value};
  Node* producer = value.producer();
  if (producer != nullptr && producer->is<Cast>() && is_plain_real(producer->input(0)->type.type))
    place.named = producer->input(0), producer = place.named->producer();
  if (producer == nullptr || !producer->is<Dequantize>()) return place;
  place.scale = number_of(network::scaling_of(*producer));
  if (place.scale) place.bytes = producer->input(0);
  return place;
}

Place output_place(const Graph& graph, Value& value) {
  Place place{&value, &value};
  if (!graph.is_output(&value) && value.uses().size() == 1 && value.uses()[0].node->is<Cast>() &&
      is_plain_real(value.uses()[0].node->output()->type.type))
    place.named = value.uses()[0].node->output();
  if (graph.is_output(place.named)) return place;
  place.scale = number_of(network::scaling_of_readers(*place.named));
  if (place.scale)
    for (const Use& use : place.named->uses()) place.quantizers.push_back(use.node);
  return place;
}

/// Of the operands that the plugin reads, then of its outputs.
std::vector<Place> places_of(const Graph& graph, const Node& node,
                             const std::map<std::string, float>& ranges) {
  std::vector<Place> places;
  for (size_t i = 0; i < read_count(node); ++i) places.push_back(input_place(*node.inputs()[i]));
  for (Value* output : node.outputs()) places.push_back(output_place(graph, *output));
  for (Place& place : places)
    if (const auto range = ranges.find(place.named->name); !place.scale && range != ranges.end())
      place.scale = scale_of_range(range->second);
  return places;
}

Value* scale_constant(Graph& graph, double scale) {
  Value* value = graph.add_constant(Tensor::scalar_f32(static_cast<float>(scale)));
  value->type = {tenon::DataType::kFloat32, {}};
  return value;
}

Value* in_bytes(Graph& graph, const Place& place) {
  if (place.bytes != nullptr) return place.bytes;
  Value* wide = place.named;
  if (wide->type.type != tenon::DataType::kFloat32)
    wide = add_cast(graph, wide, tenon::DataType::kFloat32);
  Node* node =
      graph.add_node(std::make_unique<Quantize>(), {wide, scale_constant(graph, *place.scale)}, 1,
                     place.named->name + ".quantize");
  node->output()->type = {tenon::DataType::kInt8, wide->type.shape};
  return node->output();
}

/// The output is in 8 bits from now on; its readers get reals as before, or the bytes.
void give_bytes(Graph& graph, const Place& place) {
  Value& output = *place.value;
  const tenon::DataType own = output.type.type;
  output.type.type = tenon::DataType::kInt8;
  if (!place.quantizers.empty()) {
    for (Node* quantizer : place.quantizers) {
      if (graph.is_output(quantizer->output())) output.name = std::move(quantizer->output()->name);
      graph.replace_uses(quantizer->output(), &output);
      graph.erase(quantizer);
    }
    return;
  }
  Node* node =
      graph.add_node(std::make_unique<Dequantize>(), {&output, scale_constant(graph, *place.scale)},
                     1, output.producer()->name + ".dequantize");
  node->output()->type = {tenon::DataType::kFloat32, output.type.shape};
  Value* wide = node->output();
  if (own != tenon::DataType::kFloat32) wide = add_cast(graph, wide, own);
  read_converted(graph, output, *node, *wide);
}

std::vector<OperandType> own_types(const std::vector<Place>& places) {
  std::vector<OperandType> operands;
  for (const Place& place : places)
    operands.push_back(
        {network::to_dims(place.value->type.shape),
         network::to_public(place.value->type.type).value_or(nvinfer1::DataType::kFLOAT)});
  return operands;
}

/// Bytes that are moved alone keep their scale.
const Node* behind_moves(const Value& value) {
  const Node* producer = value.producer();
  while (producer != nullptr && !producer->is<Quantize>() && !producer->is<Plugin>() &&
         !producer->inputs().empty() && producer->input(0) != nullptr &&
         producer->input(0)->type.type == tenon::DataType::kInt8)
    producer = producer->input(0)->producer();
  return producer;
}
std::optional<double> scale_ahead(const Value& value) {
  if (const auto scale = number_of(network::scaling_of_readers(value))) return scale;
  for (const Use& use : value.uses()) {
    const bool moves = use.index == 0 && !use.node->is<Plugin>() && !use.node->outputs().empty() &&
                       use.node->output()->type.type == tenon::DataType::kInt8;
    if (moves)
      if (const auto scale = scale_ahead(*use.node->output())) return scale;
  }
  return std::nullopt;
}

/// Of an operand in 8 bits, from the layers around the plugin.
std::optional<double> scale_around(const Value& value, bool is_input) {
  if (!is_input) return scale_ahead(value);
  const Node* producer = behind_moves(value);
  if (producer == nullptr) return std::nullopt;
  if (!producer->is<Plugin>()) return number_of(network::scaling_of(*producer));
  const auto* op = producer->as<Plugin>();
  for (size_t i = 0; i < producer->outputs().size(); ++i)
    if (producer->outputs()[i] == &value && !op->scales.empty())
      return op->scale(read_count(*producer) + i);
  return std::nullopt;
}

void note_scales(Node& node, const std::map<std::string, float>& ranges) {
  auto& op = *node.as<Plugin>();
  const size_t inputs = read_count(node);
  std::vector<double> scales(inputs + node.outputs().size(), 1);
  bool found = false;
  for (size_t i = 0; i < scales.size(); ++i) {
    const bool is_input = i < inputs;
    const Value& value = is_input ? *node.inputs()[i] : *node.outputs()[i - inputs];
    if (value.type.type != tenon::DataType::kInt8) continue;
    auto scale = scale_around(value, is_input);
    const auto range = ranges.find(value.name);
    if (!scale && range != ranges.end()) scale = scale_of_range(range->second);
    if (scale) scales[i] = *scale, found = true;
  }
  if (found) op.scales = std::move(scales);
}

std::vector<Node*> plugins_of(const Graph& graph) {
  std::vector<Node*> plugins;
  for (const auto& node : graph.nodes())
    if (node->is<Plugin>()) plugins.push_back(node.get());
  return plugins;
}

/// Whether it takes no operands of the graph's types, but 8 bits in the place of reals.
Result<bool> needs_bytes(const Node& node) {
  const auto& op = *node.as<Plugin>();
  TENON_ASSIGN(const auto instance,
               plugin::Instance::create({op.type, op.version, op.space}, op.fields));
  if (!instance->builds()) return false;
  std::vector<OperandType> operands;
  std::vector<bool> reals;
  const auto add = [&](const Value& value) {
    operands.push_back({network::to_dims(value.type.shape),
                        network::to_public(value.type.type).value_or(nvinfer1::DataType::kFLOAT)});
    reals.push_back(is_plain_real(value.type.type));
  };
  for (size_t i = 0; i < read_count(node); ++i) add(*node.inputs()[i]);
  for (const Value* output : node.outputs()) add(*output);
  const auto inputs = static_cast<int32_t>(read_count(node));
  return network::combinations_of(*instance, operands, inputs).empty() &&
         network::integer_types(*instance, operands, inputs, reals).has_value();
}

/// Layers that setPrecision asks to compute in 8 bits.
std::set<std::string> layers_in_bytes(const network::Network& network) {
  std::set<std::string> names;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const ILayer* layer = network.getLayer(i);
    if (layer->precisionIsSet() && layer->getPrecision() == nvinfer1::DataType::kINT8)
      names.insert(layer->getName());
  }
  return names;
}

Error without_scales(const Node& node, const std::string& missing, bool is_allowed, bool is_weak) {
  const std::string why =
      !is_weak ? std::string(
                     "the network is strongly typed: put QuantizeLinear in front of it and "
                     "DequantizeLinear behind it")
      : is_allowed ? fmt::format(
                         "'{}' has no scale: give its tensor a range (setDynamicRange), or "
                         "put QuantizeLinear and DequantizeLinear there",
                         missing)
                   : "the configuration does not allow INT8: set BuilderFlag::kINT8 (--int8)";
  return user_error("layer '{}': plugin '{}' takes no reals here, but INT8 in their place, and {}",
                    node.name, node.as<Plugin>()->type, why);
}

}  // namespace

Result<bool> IntegerPlugins::quantize(Graph& graph, Node& node, std::string& missing) const {
  auto& op = *node.as<Plugin>();
  TENON_ASSIGN(const auto instance,
               plugin::Instance::create({op.type, op.version, op.space}, op.fields));
  const std::vector<Place> places = places_of(graph, node, ranges);
  std::vector<OperandType> operands = own_types(places);
  std::vector<bool> may;
  for (const Place& place : places) {
    may.push_back(is_plain_real(place.value->type.type) && place.scale.has_value());
    if (missing.empty() && is_plain_real(place.value->type.type) && !place.scale)
      missing = place.named->name;
  }
  const size_t inputs = read_count(node);
  const auto types = network::integer_types(*instance, operands, static_cast<int32_t>(inputs), may);
  if (!types) return false;
  op.scales.assign(places.size(), 1);
  for (size_t i = 0; i < places.size(); ++i) {
    const bool changes = operands[i].type != (*types)[i];
    operands[i].type = (*types)[i];
    if (!changes) continue;
    op.scales[i] = *places[i].scale;
    operands[i].scale = static_cast<float>(op.scales[i]);
    if (i < inputs) {
      node.set_input(static_cast<int>(i), in_bytes(graph, places[i]));
    } else {
      give_bytes(graph, places[i]);
      op.output_types[i - inputs] = static_cast<int64_t>(tenon::DataType::kInt8);
    }
  }
  TENON_ASSIGN(op.fields, network::configured_fields(*instance, std::move(operands),
                                                     static_cast<int32_t>(inputs)));
  return true;
}

Status settle_integer_plugins(Graph& graph, const BuilderConfig& config,
                              const network::Network& network, Logger& logger) {
  const std::vector<Node*> plugins = plugins_of(graph);
  if (plugins.empty()) return {};
  const bool is_weak = !network.getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  const bool is_allowed = config.getFlag(BuilderFlag::kINT8) && is_weak;
  IntegerPlugins scales;
  if (is_allowed) scales.ranges = dynamic_ranges(network);
  const std::set<std::string> asked = layers_in_bytes(network);
  for (Node* node : plugins) {
    TENON_ASSIGN(const bool needs, needs_bytes(*node));
    if (!needs && (!is_allowed || !asked.contains(node->name))) continue;
    std::string missing;
    bool done = false;
    if (is_allowed) {
      TENON_ASSIGN(done, scales.quantize(graph, *node, missing));
    }
    if (needs && !done) return without_scales(*node, missing, is_allowed, is_weak);
    if (!done && !needs)
      logger.warning("setPrecision(kINT8) has no effect on the plugin '{}': {}", node->name,
                     missing.empty() ? "it takes no such operands"
                                     : fmt::format("'{}' has no scale", missing));
  }
  TENON_TRY(graph.sort());
  for (Node* node : plugins) note_scales(*node, scales.ranges);
  return {};
}

Result<std::vector<std::string>> quantize_plugins(Graph& graph, const IntegerPlugins& scales,
                                                  const std::function<bool(const Node&)>& stays) {
  std::vector<std::string> names;
  for (Node* node : plugins_of(graph)) {
    if (stays(*node)) continue;
    std::string missing;
    TENON_ASSIGN(const bool done, scales.quantize(graph, *node, missing));
    if (done) names.push_back(node->name);
  }
  if (!names.empty()) TENON_TRY(graph.sort());
  return names;
}

}  // namespace tenon::api
