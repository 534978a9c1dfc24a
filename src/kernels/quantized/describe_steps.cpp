#include "kernels/quantized/describe_steps.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace tenon::cpu {
namespace {

using enum PointwiseFunction;

float scale_of(const Problem& problem, const Scaling& scaling) {
  return static_cast<float>(problem.input(scaling.scale).constant->as_double(0));
}
float zero_of(const Problem& problem, const Scaling& scaling) {
  return scaling.zero < 0 ? 0.0f
                          : static_cast<float>(problem.input(scaling.zero).constant->as_int64(0));
}
float lowest(DataType type) {
  return type == DataType::kInt8 ? -128.0f : 0.0f;
}
float highest(DataType type) {
  return type == DataType::kInt8 ? 127.0f : 255.0f;
}

std::optional<ByteType> byte_type(DataType type) {
  if (type == DataType::kFloat32) return ByteType::f32;
  if (type == DataType::kInt8) return ByteType::i8;
  if (type == DataType::kUInt8) return ByteType::u8;
  return std::nullopt;
}

class Steps {
 public:
  Steps(const Problem& problem, int axis, OperandRows rows, ByteDescription& d)
      : problem_(problem), axis_(axis), rows_(rows), d_(d) {}

  void start(const QuantizedRegion& region) {
    const float x = d_.computed_scale < 0 ? scale_of(problem_, region.x_scaling) : 1.0f;
    const Tensor& scales = *problem_.input(region.weight_scaling.scale).constant;
    const int64_t columns = d_.problem.output_channels;
    for (int64_t i = 0; i < columns; ++i)
      d_.problem.scales.push_back(
          x * static_cast<float>(scales.as_double(scales.count() == 1 ? 0 : i)));
    d_.problem.biases.assign(columns, 0.0f);
  }

  Status bias(int input) {
    TENON_ASSIGN(const std::vector<float> numbers, columns_of(input));
    for (size_t i = 0; i < numbers.size(); ++i) d_.problem.biases[i] += numbers[i];
    return {};
  }

  void round(const QuantizedStep& step) {
    ByteStep to{.kind = ByteStep::Kind::round};
    const float zero = zero_of(problem_, *step.scaling);
    to.scale = scale_of(problem_, *step.scaling);
    to.inverse = 1.0f / to.scale;
    to.low = lowest(step.rounded_type) - zero, to.high = highest(step.rounded_type) - zero;
    append(to, {});
  }

  Status function(const QuantizedStep& step) {
    const RegionStep& f = step.function;
    ByteStep to{.kind = ByteStep::Kind::function, .function = f.function};
    to.alpha = static_cast<float>(f.alpha), to.beta = static_cast<float>(f.beta);
    to.operand_first = f.value_is_second;
    const PointwiseInfo& info = pointwise_info(f.function);
    if (info.category != PointwiseClass::arithmetic && info.category != PointwiseClass::real)
      return unsupported("{} in the region", info.name);
    if (f.operand >= 0) return binary(step, to);
    if (f.function == k_relu || f.function == k_clip) {
      to.kind = ByteStep::Kind::clamp;
      to.low = f.function == k_relu ? 0.0f : to.alpha;
      if (f.function == k_clip) to.high = to.beta;
    }
    append(to, {});
    return {};
  }

  /// The last step may be a clamp, which the output's own takes in.
  void output(const Scaling& scaling, DataType type) {
    ByteProblem& p = d_.problem;
    const float scale = scale_of(problem_, scaling), zero = zero_of(problem_, scaling);
    p.inverse = 1.0f / scale;
    p.low = lowest(type) - zero, p.high = highest(type) - zero;
    p.output_zero = zero;
    if (p.steps.empty() || p.steps.back().kind != ByteStep::Kind::clamp || scale <= 0) return;
    p.low = std::clamp(p.steps.back().low * p.inverse, p.low, p.high);
    p.high = std::clamp(p.steps.back().high * p.inverse, p.low, p.high);
    p.steps.pop_back();
    d_.operands.pop_back();
  }

 private:
  void append(const ByteStep& step, ByteDescription::Operand operand) {
    d_.problem.steps.push_back(step);
    d_.operands.push_back(std::move(operand));
  }

  /// A constant of one number, or of one a column.
  Result<std::vector<float>> columns_of(int input) const {
    const Operand& operand = problem_.input(input);
    const int64_t columns = d_.problem.output_channels;
    if (operand.constant == nullptr) return unsupported("numbers a column that are not constant");
    const int from = operand.rank() - problem_.output().rank() + axis_;
    const bool along = operand.rank() == 1 || (from >= 0 && operand.extents[from] == columns);
    if (operand.count() != 1 && (operand.count() != columns || !along))
      return unsupported("an operand that is neither one number a column nor like the output");
    std::vector<float> numbers;
    for (int64_t i = 0; i < columns; ++i)
      numbers.push_back(
          static_cast<float>(operand.constant->as_double(operand.count() == 1 ? 0 : i)));
    return numbers;
  }

  /// Sums and products with constants right behind the product, or behind a rounding.
  bool fold(const ByteStep& step, const std::vector<float>& numbers) {
    if (step.function != k_add && step.function != k_mul) return false;
    std::vector<ByteStep>& steps = d_.problem.steps;
    if (steps.empty()) {
      fold(step, numbers, d_.problem.scales.data(), d_.problem.biases.data());
      return true;
    }
    if (steps.back().kind != ByteStep::Kind::round) return false;
    ByteDescription::Operand& columns = d_.operands.back();
    if (steps.back().operand == ByteOperand::none) {
      steps.back().operand = ByteOperand::columns;
      columns.row_stride = round_up(static_cast<int64_t>(numbers.size()), kBytePanel);
      columns.columns.assign(2 * columns.row_stride + kBytePanel, 0.0f);
      std::fill_n(columns.columns.begin(), numbers.size(), steps.back().scale);
    }
    fold(step, numbers, columns.columns.data(), columns.columns.data() + columns.row_stride);
    return true;
  }

  static void fold(const ByteStep& step, const std::vector<float>& numbers, float* scales,
                   float* biases) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (step.function == k_mul) scales[i] *= numbers[i];
      biases[i] = step.function == k_mul ? biases[i] * numbers[i] : biases[i] + numbers[i];
    }
  }

  Status binary(const QuantizedStep& step, ByteStep to) {
    const Operand& operand = problem_.input(step.function.operand);
    ByteDescription::Operand from;
    if (operand.constant != nullptr && !step.scaling &&
        operand.extents != problem_.output().extents) {
      TENON_ASSIGN(from.columns, columns_of(step.function.operand));
      if (fold(to, from.columns)) return {};
      to.operand = ByteOperand::columns;
    } else {
      if (operand.extents != problem_.output().extents)
        return unsupported("an operand that is not like the output");
      const auto type = byte_type(operand.type);
      if (!type || (*type != ByteType::f32) != step.scaling.has_value())
        return unsupported("an operand of {} with{} scaling", name_of(operand.type),
                           step.scaling.has_value() ? "" : "out");
      from.input = step.function.operand;
      TENON_ASSIGN(from.row_stride, rows_(operand));
      to.operand = ByteOperand::full;
      to.type = *type;
      if (step.scaling) {
        to.operand_scale = scale_of(problem_, *step.scaling);
        to.operand_zero = zero_of(problem_, *step.scaling);
      }
    }
    if (to.function == k_add) to.kind = ByteStep::Kind::add;
    append(to, std::move(from));
    return {};
  }

  const Problem& problem_;
  int axis_;
  OperandRows rows_;
  ByteDescription& d_;
};

}  // namespace

Status describe_steps(const Problem& problem, const QuantizedRegion& region, int axis,
                      OperandRows rows, ByteDescription& d) {
  Steps steps(problem, axis, rows, d);
  steps.start(region);
  if (region.bias >= 0) TENON_TRY(steps.bias(region.bias));
  for (const QuantizedStep& step : region.steps) {
    if (step.rounds)
      steps.round(step);
    else
      TENON_TRY(steps.function(step));
  }
  const auto type = byte_type(problem.output().type);
  if (!type || (*type == ByteType::f32) == region.output.has_value())
    return unsupported("an output of {} with{} scaling", name_of(problem.output().type),
                       region.output.has_value() ? "" : "out");
  d.problem.type = *type;
  if (region.output) steps.output(*region.output, problem.output().type);
  if (d.problem.steps.size() > kMaxByteSteps)
    return unsupported("a chain of {} steps", d.problem.steps.size());
  return {};
}

}  // namespace tenon::cpu
