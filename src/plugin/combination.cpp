#include "plugin/combination.h"

#include <algorithm>

namespace tenon::plugin {
namespace {

using nvinfer1::TensorFormat;

/// Combinations that are asked further: a plugin that takes much more than its limit of them in the
/// first is not asked for ever.
constexpr size_t kMostFound = 1024;

/// Goes through the operands in their order, since each answer counts for those in front of it.
class Question {
 public:
  Question(Instance& instance, std::vector<OperandType> operands, int32_t inputs,
           std::span<const Formats> allowed)
      : instance_(instance), operands_(std::move(operands)), inputs_(inputs), allowed_(allowed) {}

  std::vector<Combination> ask() {
    ask_from(0);
    return std::move(found_);
  }

 private:
  bool takes(size_t position, TensorFormat format) {
    operands_[position].format = format;
    return instance_.takes(static_cast<int32_t>(position), operands_, inputs_);
  }

  void ask_from(size_t position) {
    if (found_.size() >= kMostFound) return;
    if (position == operands_.size()) {
      Combination& combination = found_.emplace_back();
      for (const OperandType& operand : operands_)
        combination.push_back({operand.type, operand.format});
      return;
    }
    const Formats& formats = allowed_[position];
    const bool looks = formats.size() == 1 || !takes(position, TensorFormat::kDLA_HWC4);
    for (const TensorFormat format : formats) {
      if (!looks && format != TensorFormat::kLINEAR) break;
      if (takes(position, format)) ask_from(position + 1);
    }
  }

  Instance& instance_;
  std::vector<OperandType> operands_;
  int32_t inputs_;
  std::span<const Formats> allowed_;
  std::vector<Combination> found_;
};

}  // namespace

int64_t reformats(const Combination& combination) {
  return std::ranges::count_if(combination, [](const OperandFormat& o) { return !o.is_linear(); });
}

std::vector<Combination> ask_for_formats(Instance& instance, std::vector<OperandType> operands,
                                         int32_t inputs, std::span<const Formats> allowed) {
  if (!instance.builds()) return {};
  std::vector<Combination> found = Question(instance, std::move(operands), inputs, allowed).ask();
  std::ranges::stable_sort(found, {}, reformats);
  found.resize(
      std::min(found.size(), static_cast<size_t>(std::max(instance.combination_limit(), 1))));
  return found;
}

}  // namespace tenon::plugin
