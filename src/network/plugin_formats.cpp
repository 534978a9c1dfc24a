#include "network/plugin_formats.h"

#include <algorithm>

#include "network/convert.h"
#include "network/io_formats.h"

namespace tenon::network {
plugin::Formats formats_of(const plugin::OperandType& operand) {
  const TensorType type{from_public(operand.type), to_shape(to_extents(operand.dims))};
  plugin::Formats formats = formats_of_type(operand.type);
  std::erase_if(formats, [&](nvinfer1::TensorFormat format) {
    return format != nvinfer1::TensorFormat::kLINEAR &&
           (operand.dims.nbDims < 0 || !format_of(format, type).ok());
  });
  return formats;
}

std::vector<plugin::Combination> combinations_of(plugin::Instance& instance,
                                                 const std::vector<plugin::OperandType>& operands,
                                                 int32_t inputs) {
  std::vector<plugin::Formats> allowed;
  for (const plugin::OperandType& operand : operands) allowed.push_back(formats_of(operand));
  return plugin::ask_for_formats(instance, operands, inputs, allowed);
}

Result<std::string> configured_fields(plugin::Instance& instance,
                                      std::vector<plugin::OperandType> operands, int32_t inputs) {
  const auto combinations = combinations_of(instance, operands, inputs);
  for (size_t i = 0; !combinations.empty() && i < operands.size(); ++i)
    operands[i].format = combinations[0][i].format;
  TENON_TRY(instance.configure(operands, inputs));
  return instance.serialized();
}

}  // namespace tenon::network
