#include "kernels/jit/epilogue_code.h"

#include <bit>

#include "kernels/jit/epilogue_text.h"
#include "kernels/jit/plan.h"
#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"
#include "ops/math.h"

namespace tenon {
namespace {

/// Bytes of a constant that every block may ask for; 0 where it is none, or large.
int64_t small_constant(const Operand& operand) {
  constexpr int64_t kSmall = 16384;
  const int64_t bytes = operand.constant == nullptr || !operand.dense()
                            ? 0
                            : operand.count() * static_cast<int64_t>(byte_size(operand.type));
  return bytes <= kSmall ? bytes : 0;
}

/// Records the steps one after the other and keeps count of the operands. Operands that are given
/// with strides come before the region's.
class EpilogueRecorder {
 public:
  EpilogueRecorder(KernelCode& code, const Problem& problem, const AnchoredRegion& region,
                   const IndexLoop& loop)
      : code_(code), problem_(problem), region_(region), loop_(loop) {}

  Status steps(const std::vector<ExtraStep>& before) {
    for (const ExtraStep& extra : before)
      TENON_TRY(step({.function = extra.function, .operand = extra.operand}, &extra.strides));
    for (value_ = 0; value_ < region_.steps.size(); ++value_) {
      if (is_kept(value_)) record(EpilogueStatement::kKeep, static_cast<int64_t>(value_));
      const RegionStep& next = region_.steps[value_];
      if (next.from > 0) record(EpilogueStatement::kReturn, kept(next.from));
      TENON_TRY(step(next, nullptr));
    }
    return region_.quantize == nullptr ? Status{} : quantize(*region_.quantize);
  }

  /// Rounding to the result's type comes last.
  Status quantize(const Node& node) {
    TENON_ASSIGN(const double scale, number_of(node.input(1), 1));
    TENON_ASSIGN(const double zero, number_of(node.has_input(2) ? node.input(2) : nullptr, 0));
    rounding_ = quantized_expression("v[i]", problem_.output().type, scale, zero);
    record(EpilogueStatement::kRound);
    return {};
  }

  Status step(const RegionStep& step, const std::vector<int64_t>* strides) {
    // Results of 16 bits and fewer do not need every digit of some functions.
    const bool rough = byte_size(problem_.output().type) <= 2;
    if (rough && step.function == PointwiseFunction::k_gelu_tanh) {
      record(EpilogueStatement::kRoughGelu);
      return {};
    }
    TENON_TRY(add_step_function(code_, count_, step, rough));
    const int64_t is_second = step.value_is_second ? 1 : 0;
    if (step.earlier >= 0) {
      record(EpilogueStatement::kEarlier, count_++, kept(step.earlier), is_second);
    } else if (step.operand < 0) {
      record(EpilogueStatement::kAlone, count_++);
    } else {
      TENON_TRY(operand(step.operand, strides));
      record(EpilogueStatement::kOperand, count_++, std::ssize(operands_) - 1, is_second);
    }
    return {};
  }

  std::vector<int> finish() {
    std::vector<std::string_view> words{rounding_};
    std::vector<int64_t> numbers;
    for (const int operand : operands_) {
      const EpilogueOperand known = epilogue_operand(problem_.input(operand));
      words.push_back(known.type);
      numbers.push_back(known.prefetched_bytes);
    }
    numbers.insert(numbers.end(), statements_.begin(), statements_.end());
    code_.record(TextForm::kEpilogue, words, numbers);
    return std::move(operands_);
  }

 private:
  void record(EpilogueStatement statement, int64_t first = 0, int64_t second = 0,
              int64_t third = 0) {
    statements_.insert(statements_.end(), {static_cast<int64_t>(statement), first, second, third});
  }
  /// The number of the value that was the running one so many steps ago.
  int64_t kept(int steps_ago) const {
    return steps_ago == 0 ? kRunningValue : static_cast<int64_t>(value_) - steps_ago;
  }
  /// Whether a step takes the value behind the first `number` steps when it is no longer the
  /// running one.
  bool is_kept(size_t number) const {
    for (size_t i = number; i < region_.steps.size(); ++i) {
      const auto ago = static_cast<int>(i - number);
      const RegionStep& step = region_.steps[i];
      if (ago > 0 && (step.from == ago || step.earlier == ago)) return true;
    }
    return false;
  }

  /// The one number that a constant of the problem holds.
  Result<double> number_of(const Value* value, double otherwise) const {
    if (value == nullptr) return otherwise;
    const int input = input_number(value);
    const Tensor* constant = input < 0 ? nullptr : problem_.input(input).constant;
    if (constant == nullptr || constant->count() != 1)
      return unsupported("a scale that is not one known number");
    return constant->as_double(0);
  }

  Status operand(int index, const std::vector<int64_t>* given) {
    const Operand& operand = problem_.input(index);
    if (device_type(operand.type) == nullptr || !is_real(operand.type))
      return unsupported("an operand of the epilogue is {}", name_of(operand.type));
    const Extents extents = extents_of_steps(problem_, region_);
    std::vector<int64_t> strides;
    if (given != nullptr) {
      strides = *given;
    } else {
      TENON_ASSIGN(strides, broadcast_strides(operand, extents));
    }
    code_.located("Epilogue" + std::to_string(operands_.size()) + "At", loop_, operand, strides);
    operands_.push_back(index);
    return {};
  }

  KernelCode& code_;
  const Problem& problem_;
  const AnchoredRegion& region_;
  const IndexLoop& loop_;
  size_t value_ = 0;  ///< Steps of the region before the one that is recorded.
  std::string rounding_;
  std::vector<int64_t> statements_;
  std::vector<int> operands_;
  int count_ = 0;
};

}  // namespace

Status add_result_type(KernelCode& code, const Problem& problem, const AnchoredRegion& region) {
  const DataType type = problem.output().type;
  const bool quantizes = region.quantize != nullptr;
  const char* name = quantizes ? byte_type(type) : device_type(type);
  if (name == nullptr) return unsupported("results of {}", name_of(type));
  if (quantizes) {
    const auto* op = region.quantize->as<Quantize>();
    if (op->block_size != 0) return unsupported("scales of blocks");
    if (is_real(type) && (!op->saturate || capability_of(problem) < 89))
      return unsupported("floats of 8 bits that do not saturate, or before sm_89");
    TENON_ASSIGN(const std::string bytes, device_source("jit/bytes.cuh"));
    code.text(bytes);
    code.allow_fast_math();
  }
  code.alias("Y", name);
  return {};
}

EpilogueOperand epilogue_operand(const Operand& operand) {
  return {device_type(operand.type), small_constant(operand)};
}

Status add_step_function(KernelCode& code, int number, const RegionStep& step, bool rough) {
  const PointwiseInfo& info = pointwise_info(step.function);
  if (info.category != PointwiseClass::arithmetic && info.category != PointwiseClass::real)
    return unsupported("{} in the epilogue", info.name);
  std::string_view formula = info.formula;
  if (rough && step.function == PointwiseFunction::k_gelu_erf) formula = "rough_gelu_erf(x)";
  if (rough && step.function == PointwiseFunction::k_gelu_tanh) formula = "rough_gelu_tanh_of(x)";
  const int64_t numbers[] = {number, std::bit_cast<int64_t>(double{step.alpha}),
                             std::bit_cast<int64_t>(double{step.beta})};
  code.record(TextForm::kStepFunction, {formula}, numbers);
  return {};
}

void add_epilogue_functions(KernelCode& code, const std::vector<EpilogueOperand>& operands,
                            const std::string& body) {
  code.text(epilogue_functions(operands, body));
}

Result<std::vector<int>> add_epilogue(KernelCode& code, const Problem& problem,
                                      const AnchoredRegion& region, const IndexLoop& loop,
                                      const std::vector<ExtraStep>& before) {
  const DataType type = problem.output().type;
  if (region.quantize == nullptr) {
    if (device_type(type) == nullptr) return unsupported("results of {}", name_of(type));
    if (!is_real(type) && !region.steps.empty())
      return unsupported("an epilogue over {}", name_of(type));
  }
  code.alias("Real", region.quantize != nullptr ? "f32" : wide_type(type));
  EpilogueRecorder recorder(code, problem, region, loop);
  TENON_TRY(recorder.steps(before));
  return recorder.finish();
}

}  // namespace tenon
