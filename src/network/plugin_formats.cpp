#include "network/plugin_formats.h"

#include <algorithm>

#include "network/convert.h"
#include "network/io_formats.h"

namespace tenon::network {
namespace {

/// Goes through the operands in their order, since each answer counts for those in front of it.
class IntegerQuestion {
 public:
  IntegerQuestion(plugin::Instance& instance, std::vector<plugin::OperandType> operands,
                  int32_t inputs, const std::vector<bool>& may)
      : instance_(instance), operands_(std::move(operands)), inputs_(inputs), may_(may) {}

  std::optional<std::vector<nvinfer1::DataType>> ask() {
    if (!instance_.builds() || !ask_from(0, false)) return std::nullopt;
    std::vector<nvinfer1::DataType> types;
    for (const plugin::OperandType& operand : operands_) types.push_back(operand.type);
    return types;
  }

 private:
  static constexpr int kMostQuestions = 4096;

  bool takes(size_t position) {
    return std::ranges::any_of(formats_of(operands_[position]), [&](nvinfer1::TensorFormat format) {
      operands_[position].format = format;
      return instance_.takes(static_cast<int32_t>(position), operands_, inputs_);
    });
  }
  bool ask_from(size_t position, bool has_integers) {
    if (++questions_ > kMostQuestions) return false;
    if (position == operands_.size())
      return has_integers && !combinations_of(instance_, operands_, inputs_).empty();
    const nvinfer1::DataType own = operands_[position].type;
    for (const bool integers : {true, false}) {
      if (integers && !may_[position]) continue;
      operands_[position].type = integers ? nvinfer1::DataType::kINT8 : own;
      if (takes(position) && ask_from(position + 1, has_integers || integers)) return true;
    }
    return false;
  }

  plugin::Instance& instance_;
  std::vector<plugin::OperandType> operands_;
  int32_t inputs_;
  const std::vector<bool>& may_;
  int questions_ = 0;
};

}  // namespace

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

std::optional<std::vector<nvinfer1::DataType>> integer_types(
    plugin::Instance& instance, std::vector<plugin::OperandType> operands, int32_t inputs,
    const std::vector<bool>& may) {
  return IntegerQuestion(instance, std::move(operands), inputs, may).ask();
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
