#include "kernels/plugin/choice.h"

#include <charconv>
#include <optional>

#include "network/convert.h"
#include "network/plugin_formats.h"

namespace tenon {
namespace {

constexpr std::string_view kFormats = "formats=", kTactic = "tactic=", kKept = "k";

/// The part of a configuration behind a word, as far as the next part; nothing where it is missing.
std::optional<std::string_view> part_of(std::string_view config, std::string_view word) {
  const size_t at = config.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = config.substr(at + word.size());
  return rest.substr(0, rest.find(','));
}

/// Takes a number off the text; nothing where there is none.
std::optional<int32_t> take_number(std::string_view& text) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

/// Takes a word off the text where it begins with it.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

plugin::Identity identity_of(const Plugin& op) {
  return {op.type, op.version, op.space};
}

std::span<const Operand> read_inputs(const Problem& problem) {
  const int64_t read = problem.operation.as<Plugin>()->inputs;
  const std::span<const Operand> all = problem.inputs;
  return read < 0 ? all : all.first(static_cast<size_t>(read));
}

std::vector<plugin::OperandType> operand_types(const Problem& problem) {
  const auto& op = *problem.operation.as<Plugin>();
  std::vector<plugin::OperandType> types;
  for (const auto& operands : {read_inputs(problem), std::span<const Operand>(problem.outputs)})
    for (const Operand& operand : operands) {
      types.push_back({network::to_dims(operand.extents),
                       network::to_public(operand.type).value_or(nvinfer1::DataType::kFLOAT)});
      types.back().scale = static_cast<float>(op.scale(types.size() - 1));
    }
  return types;
}

std::string PluginChoice::text() const {
  std::string text;
  if (plugin::reformats(combination) > 0)
    for (const plugin::OperandFormat& operand : combination)
      text += fmt::format("{}{}{}", text.empty() ? kFormats : ":", static_cast<int>(operand.format),
                          operand.kept ? kKept : "");
  if (tactic < 0) return text;
  return fmt::format("{}{}{}{}", text, text.empty() ? "" : ",", kTactic, tactic);
}

Result<PluginChoice> choice_of(std::span<const nvinfer1::DataType> operands,
                               std::string_view config) {
  PluginChoice choice;
  auto formats = part_of(config, kFormats);
  for (const nvinfer1::DataType type : operands) {
    const auto number = formats ? take_number(*formats) : 0;
    if (!number || *number < 0 || *number >= nvinfer1::EnumMax<nvinfer1::TensorFormat>())
      return user_error("'{}' gives no formats for the plugin's operands", config);
    const bool kept = formats && take(*formats, kKept);
    if (formats) take(*formats, ":");
    choice.combination.push_back({type, static_cast<nvinfer1::TensorFormat>(*number), kept});
  }
  if (auto tactic = part_of(config, kTactic)) choice.tactic = take_number(*tactic).value_or(-1);
  return choice;
}

Result<PluginChoice> choice_of(const Problem& problem, std::string_view config) {
  std::vector<nvinfer1::DataType> types;
  for (const plugin::OperandType& operand : operand_types(problem)) types.push_back(operand.type);
  return choice_of(types, config);
}

Result<std::vector<PluginChoice>> choices_of(plugin::Instance& instance, const Problem& problem) {
  std::vector<plugin::OperandType> operands = operand_types(problem);
  const auto inputs = static_cast<int32_t>(read_inputs(problem).size());
  const auto combinations = network::combinations_of(instance, operands, inputs);
  if (combinations.empty()) TENON_TRY(instance.check_formats(operands, inputs));
  std::vector<PluginChoice> choices;
  for (const plugin::Combination& combination : combinations) {
    for (size_t i = 0; i < operands.size(); ++i) {
      operands[i].type = combination[i].type;
      operands[i].format = combination[i].format;
    }
    TENON_TRY(instance.configure(operands, inputs));  // Its tactics may be those of a combination.
    std::vector<int32_t> tactics = instance.tactics();
    if (tactics.empty()) tactics.push_back(-1);
    for (const int32_t tactic : tactics) choices.push_back({combination, tactic});
  }
  return choices;
}

}  // namespace tenon
