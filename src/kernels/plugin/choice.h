#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tactic.h"
#include "ops/structure.h"
#include "plugin/combination.h"

namespace tenon {

plugin::Identity identity_of(const Plugin& op);
/// The operands that the plugin reads: behind them come its shape inputs.
std::span<const Operand> read_inputs(const Problem& problem);
/// Those, then the outputs, as the graph has them: linear.
std::vector<plugin::OperandType> operand_types(const Problem& problem);

/// The formats of a plugin's operands, and a tactic of the plugin's own, -1 for none. As the text
/// of a configuration "formats=0:5k,tactic=7", where each part may be missing: then all formats are
/// linear, and there is no tactic. A "k" stands for a tensor that the graph has in that format.
struct PluginChoice {
  plugin::Combination combination;
  int32_t tactic = -1;

  std::string text() const;
};

/// The same by the types of the operands that the plugin reads, then of its outputs.
Result<PluginChoice> choice_of(std::span<const nvinfer1::DataType> operands,
                               std::string_view config);
/// An error where the text has other numbers of operands or formats than there are.
Result<PluginChoice> choice_of(const Problem& problem, std::string_view config);
/// All that the plugin takes, at least one.
Result<std::vector<PluginChoice>> choices_of(plugin::Instance& instance, const Problem& problem);

}  // namespace tenon
