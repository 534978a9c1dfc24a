#include "kernels/cpu_tactic.h"
#include "kernels/quantized/byte_convolution.h"
#include "kernels/quantized/byte_depthwise.h"
#include "kernels/quantized/byte_winograd.h"
#include "kernels/quantized/describe.h"

namespace tenon::tactics {
namespace {

/// Of a ByteConvolution, a ByteDepthwise or a ByteWinograd.
template <class Convolution> class ByteKernelOfPlan final : public Kernel {
 public:
  ByteKernelOfPlan(Convolution convolution, cpu::ByteDescription description)
      : convolution_(std::move(convolution)), d_(std::move(description)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), d_.problem.threads));
    cpu::ByteStepOperand operands[cpu::kMaxByteSteps];
    for (size_t i = 0; i < d_.operands.size(); ++i) {
      const cpu::ByteDescription::Operand& from = d_.operands[i];
      operands[i] = {from.input >= 0 ? arguments.inputs[from.input] : from.columns.data(),
                     from.row_stride};
    }
    cpu::ByteArguments numbers{arguments.inputs[d_.input], arguments.outputs[0], operands};
    numbers.zero =
        d_.computed_zero < 0 ? d_.problem.zero : zero(arguments.inputs[d_.computed_zero]);
    if (d_.computed_scale >= 0)
      numbers.scale = *static_cast<const float*>(arguments.inputs[d_.computed_scale]);
    numbers.ahead = arguments.ahead;
    convolution_.run(numbers, *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return convolution_.scratch_bytes(); }
  bool uses_input(int input) const override {
    if (input == d_.input || input == d_.computed_scale || input == d_.computed_zero) return true;
    for (const cpu::ByteDescription::Operand& operand : d_.operands)
      if (operand.input == input) return true;
    return false;
  }
  std::span<const std::byte> packed() const override { return convolution_.packed(); }
  bool packs_input(int input) const override { return input == d_.weights; }
  size_t fetch_capacity() const override { return convolution_.fetch_capacity(); }

 private:
  int32_t zero(const void* at) const {
    return d_.problem.is_signed ? *static_cast<const int8_t*>(at)
                                : *static_cast<const uint8_t*>(at);
  }

  Convolution convolution_;
  cpu::ByteDescription d_;
};

/// The contents of the weights, without their zero points.
struct Weights {
  const Tensor& tensor;
  int64_t window, channels, columns;
  std::vector<int64_t> zeros;  ///< One, or one a column.
  bool across = false;

  int16_t at(int64_t column, int64_t position, int64_t channel) const {
    const int64_t index =
        across ? channel * columns + column : (column * channels + channel) * window + position;
    const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.bytes());
    const int64_t value = tensor.type() == DataType::kInt8 ? static_cast<int8_t>(bytes[index])
                                                           : int64_t{bytes[index]};
    return static_cast<int16_t>(value - zeros[zeros.size() == 1 ? 0 : column]);
  }
};

template <class Convolution>
Result<std::unique_ptr<Kernel>> make(const Problem& problem, cpu::ByteDescription d) {
  const Tensor& tensor = *problem.input(d.weights).constant;
  const int64_t depth = tensor.count() / d.problem.window() / d.problem.output_channels;
  const Tensor* zeros = d.weight_zero < 0 ? nullptr : problem.input(d.weight_zero).constant;
  Weights weights{tensor, d.problem.window(), depth, d.problem.output_channels, {}};
  weights.across = d.weights_across;
  for (int64_t i = 0; zeros != nullptr && i < zeros->count(); ++i)
    weights.zeros.push_back(zeros->as_int64(i));
  if (zeros == nullptr) weights.zeros = {0};
  const auto get = [&](int64_t n, int64_t position, int64_t c) {
    return weights.at(n, position, c);
  };
  const cpu::ByteWeights source(get);
  TENON_ASSIGN(Convolution convolution,
               Convolution::prepare(d.problem, tensor.bytes() == nullptr ? nullptr : &source));
  return make_kernel<ByteKernelOfPlan<Convolution>>(std::move(convolution), std::move(d));
}

Result<cpu::ByteDescription> describe_full(const Problem& problem) {
  return cpu::describe_byte_convolution(problem, false);
}

Result<cpu::ByteDescription> describe_depthwise(const Problem& problem) {
  return cpu::describe_byte_convolution(problem, true);
}

Result<cpu::ByteDescription> describe_winograd(const Problem& problem) {
  TENON_ASSIGN(cpu::ByteDescription description, describe_full(problem));
  TENON_TRY(cpu::ByteWinograd::check(description.problem));
  return description;
}

}  // namespace

namespace quantized_conv {
TENON_DESCRIBED_TACTIC(describe_full, make<cpu::ByteConvolution>)
}  // namespace quantized_conv

namespace quantized_winograd {
TENON_DESCRIBED_TACTIC(describe_winograd, make<cpu::ByteWinograd>)
}  // namespace quantized_winograd

namespace quantized_depthwise {
TENON_DESCRIBED_TACTIC(describe_depthwise, make<cpu::ByteDepthwise>)
}  // namespace quantized_depthwise

namespace quantized_matmul {
TENON_DESCRIBED_TACTIC(cpu::describe_byte_matmul, make<cpu::ByteConvolution>)
}  // namespace quantized_matmul

}  // namespace tenon::tactics
