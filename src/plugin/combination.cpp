#include "plugin/combination.h"

#include <algorithm>

namespace tenon::plugin {
namespace {

using nvinfer1::TensorFormat;

/// Where operands do not depend on each other, there are as many combinations as formats to the
/// power of operands, too many to ask for all of them, or for all that end in a refusal.
constexpr size_t kMostFound = 1024;
constexpr int kMostQuestions = 16384;

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
    ++questions_;
    return instance_.takes(static_cast<int32_t>(position), operands_, inputs_);
  }

  void ask_from(size_t position) {
    if (found_.size() >= kMostFound || questions_ >= kMostQuestions) return;
    if (position == operands_.size()) {
      Combination& combination = found_.emplace_back();
      for (const OperandType& operand : operands_)
        combination.push_back({operand.type, operand.format, false});
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
  int questions_ = 0;
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
