#include "select/keep_formats.h"

#include <optional>

#include "kernels/plugin/choice.h"
#include "network/convert.h"
#include "network/io_formats.h"

namespace tenon {
namespace {

/// A plugin's node, and the choice that its tactic names.
struct ChosenPlugin {
  Node& node;
  std::string name;
  PluginChoice choice;
  size_t inputs;

  plugin::OperandFormat& input(int index) { return choice.combination[static_cast<size_t>(index)]; }
  plugin::OperandFormat& output(int index) {
    return choice.combination[inputs + static_cast<size_t>(index)];
  }
  void write() { node.tactic = join_tactic(name, choice.text()); }
};

std::optional<ChosenPlugin> chosen_plugin(Node& node, const Backend& backend) {
  const auto* op = node.as<Plugin>();
  if (op == nullptr || backend.origin_of(node.tactic) != TacticOrigin::kPlugin) return std::nullopt;
  const size_t inputs = op->inputs < 0 ? node.inputs().size() : static_cast<size_t>(op->inputs);
  std::vector<nvinfer1::DataType> types;
  const auto add = [&](const Value& value) {
    types.push_back(network::to_public(value.type.type).value_or(nvinfer1::DataType::kFLOAT));
  };
  for (size_t i = 0; i < inputs; ++i) add(*node.inputs()[i]);
  for (const Value* output : node.outputs()) add(*output);
  const TacticText text = split_tactic(node.tactic);
  auto choice = choice_of(types, text.config);
  if (!choice.ok()) return std::nullopt;
  return ChosenPlugin{node, std::string(text.name), std::move(choice).value(), inputs};
}

bool pads_nothing(nvinfer1::TensorFormat format, const TensorType& type) {
  if (!is_constant(type.shape)) return false;
  const auto io = network::format_of(format, type);
  const Extents extents = constants(type.shape);
  return io.ok() && element_count(io->to_buffer(extents)) == element_count(extents);
}

void keep_format(Graph& graph, Value& value, ChosenPlugin& writer, const Backend& backend) {
  if (value.uses().size() != 1 || graph.is_output(&value)) return;
  const Use use = value.uses()[0];
  auto reader = chosen_plugin(*use.node, backend);
  if (!reader || static_cast<size_t>(use.index) >= reader->inputs) return;
  plugin::OperandFormat& written = writer.output(value.index());
  plugin::OperandFormat& read = reader->input(use.index);
  if (written.is_linear() || written.format != read.format ||
      !pads_nothing(written.format, value.type))
    return;
  written.kept = read.kept = true;
  writer.write();
  reader->write();
}

}  // namespace

void keep_formats(Graph& graph, const Backend& backend) {
  for (const auto& node : graph.nodes())
    if (auto writer = chosen_plugin(*node, backend))
      for (Value* output : node->outputs()) keep_format(graph, *output, *writer, backend);
}

}  // namespace tenon
