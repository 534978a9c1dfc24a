#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "plugin/combination.h"

namespace tenon::network {

/// Formats that a tensor can have, linear first; where its shape or type allows no other, linear.
plugin::Formats formats_of(const plugin::OperandType& operand);

/// Combinations of formats that the plugin takes these operands in, few reformats first, as many as
/// it says that there are at most; none where it refuses all. How many of them are tried is the
/// build's effort, as with all kernels.
std::vector<plugin::Combination> combinations_of(plugin::Instance& instance,
                                                 const std::vector<plugin::OperandType>& operands,
                                                 int32_t inputs);

/// Types under which the plugin takes these operands, with INT8 for as many of the operands marked
/// in `may` as it accepts; nothing where it accepts INT8 for none.
std::optional<std::vector<nvinfer1::DataType>> integer_types(
    plugin::Instance& instance, std::vector<plugin::OperandType> operands, int32_t inputs,
    const std::vector<bool>& may);

/// Configures the plugin for operands in the formats that it takes best, for the fields that it
/// serializes then.
Result<std::string> configured_fields(plugin::Instance& instance,
                                      std::vector<plugin::OperandType> operands, int32_t inputs);

}  // namespace tenon::network
