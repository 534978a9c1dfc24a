#pragma once

#include <span>
#include <vector>

#include "plugin/instance.h"

namespace tenon::plugin {

/// The type and format of one operand.
struct OperandFormat {
  nvinfer1::DataType type;
  nvinfer1::TensorFormat format;
  bool kept = false;  ///< The graph has the tensor in that format, too: nothing is moved.

  bool is_linear() const { return format == nvinfer1::TensorFormat::kLINEAR; }
};

/// Of all operands that a plugin reads and of its outputs, as it takes them together.
using Combination = std::vector<OperandFormat>;

/// How many operands come in another format than linear.
int64_t reformats(const Combination& combination);

/// Formats that one operand may have, linear first.
using Formats = std::vector<nvinfer1::TensorFormat>;

/// Asks the plugin about its operands in all of these formats, and gives the combinations that it
/// takes, few reformats first. An operand that it would also take in a format of DLA's is one whose
/// format it does not look at: that one stays linear.
std::vector<Combination> ask_for_formats(Instance& instance, std::vector<OperandType> operands,
                                         int32_t inputs, std::span<const Formats> allowed);

}  // namespace tenon::plugin
