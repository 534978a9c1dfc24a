#include "api/lower_plugins.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "network/convert.h"
#include "network/plugin_formats.h"
#include "ops/structure.h"
#include "passes/casts.h"
#include "plugin/instance.h"

namespace tenon::api {
namespace {

using plugin::OperandType;

constexpr DataType kWide = DataType::kFloat32;

/// The type that the layer is to compute in; nothing where it stays as it is.
std::optional<DataType> type_for(const Node& node, const PassOptions& passes) {
  for (const auto& [pattern, type] : passes.types)
    if (matches_pattern(pattern, node.name)) return type;
  return passes.precision;
}

/// Inputs and outputs with FP32 in another type; nothing where a type has no public word.
std::optional<std::vector<OperandType>> lowered_operands(const Node& node, DataType to) {
  std::vector<OperandType> operands;
  const auto add = [&](const Value& value) {
    const auto type = network::to_public(value.type.type == kWide ? to : value.type.type);
    if (type) operands.push_back({network::to_dims(value.type.shape), *type});
    return type.has_value();
  };
  for (size_t i = 0; i < read_count(node); ++i)
    if (!add(*node.inputs()[i])) return std::nullopt;
  for (const Value* output : node.outputs())
    if (!add(*output)) return std::nullopt;
  return operands;
}

/// Whether the plugin gives outputs of these types for inputs of these, and takes both.
bool takes(plugin::Instance& instance, const std::vector<OperandType>& operands, size_t inputs) {
  std::vector<nvinfer1::DataType> types;
  for (size_t i = 0; i < inputs; ++i) types.push_back(operands[i].type);
  const auto outputs = instance.output_types(types);
  if (!outputs.ok() || outputs->size() != operands.size() - inputs) return false;
  for (size_t i = 0; i < outputs->size(); ++i)
    if ((*outputs)[i] != operands[inputs + i].type) return false;
  return !network::combinations_of(instance, operands, static_cast<int32_t>(inputs)).empty();
}

/// Readers and the graph's outputs get the value in FP32 as before.
void lower_output(Graph& graph, Value& output, DataType to) {
  output.type.type = to;
  Value* const wide = add_cast(graph, &output, kWide);
  read_converted(graph, output, *wide->producer(), *wide);
}

Status lower_plugin(Graph& graph, Node& node, DataType to) {
  const auto has_wide = [](const Value* value) { return value->type.type == kWide; };
  const size_t inputs = read_count(node);
  if (to == kWide || std::ranges::none_of(node.outputs(), has_wide)) return {};
  auto& op = *node.as<Plugin>();
  const auto operands = lowered_operands(node, to);
  if (!operands) return {};
  TENON_ASSIGN(const auto instance,
               plugin::Instance::create({op.type, op.version, op.space}, op.fields));
  if (!instance->builds() || !takes(*instance, *operands, inputs)) return {};
  TENON_ASSIGN(op.fields,
               network::configured_fields(*instance, *operands, static_cast<int32_t>(inputs)));
  for (size_t i = 0; i < inputs; ++i)
    if (has_wide(node.inputs()[i]))
      node.set_input(static_cast<int>(i), add_cast(graph, node.inputs()[i], to));
  std::ranges::replace(op.output_types, static_cast<int64_t>(kWide), static_cast<int64_t>(to));
  for (Value* output : node.outputs())
    if (has_wide(output)) lower_output(graph, *output, to);
  return {};
}

}  // namespace

size_t read_count(const Node& node) {
  const int64_t read = node.as<Plugin>()->inputs;
  return read < 0 ? node.inputs().size() : static_cast<size_t>(read);
}

Status lower_plugins(Graph& graph, const PassOptions& passes) {
  std::vector<Node*> plugins;
  for (const auto& node : graph.nodes())
    if (node->is<Plugin>()) plugins.push_back(node.get());
  for (Node* node : plugins)
    if (const auto type = type_for(*node, passes)) TENON_TRY(lower_plugin(graph, *node, *type));
  return plugins.empty() ? Status() : graph.sort();
}

void read_converted(Graph& graph, Value& value, Node& first, Value& converted) {
  if (graph.is_output(&value)) converted.name = std::exchange(value.name, {});
  graph.replace_uses(&value, &converted);
  first.set_input(0, &value);
}

}  // namespace tenon::api
