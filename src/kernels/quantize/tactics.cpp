#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/quantize/quantize.h"
#include "ops/math.h"

namespace tenon::cpu {}  // namespace tenon::cpu

namespace tenon::tactics::quantize_runs {
namespace {

std::optional<cpu::QuantizedType> quantized_type(DataType type) {
  if (type == DataType::kInt8) return cpu::QuantizedType::i8;
  if (type == DataType::kUInt8) return cpu::QuantizedType::u8;
  if (type == DataType::kInt32) return cpu::QuantizedType::i32;
  return std::nullopt;
}

/// In memory: `outer` times `extent` scales times `inner` elements.
struct Description {
  bool quantizes = true;
  cpu::ElementType real = cpu::ElementType::f32, scale_type = cpu::ElementType::f32;
  cpu::QuantizedType quantized = cpu::QuantizedType::i8;
  DataType zero_type = DataType::kInt8;
  bool has_zero = false;
  int64_t outer = 1, extent = 1, inner = 1;
};

Status describe_groups(const Operand& x, const Operand& scale, int64_t axis, Description& d) {
  d.extent = scale.count();
  if (d.extent == 1) {
    d.inner = x.count();
    return {};
  }
  if (axis < 0) axis += x.rank();
  d.inner = dense_strides(x.extents, x.layout)[axis];
  d.outer = x.count() / (d.extent * d.inner);
  return {};
}

Result<Description> describe(const Problem& problem) {
  const auto* quantize = problem.operation.as<Quantize>();
  const auto* dequantize = problem.operation.as<Dequantize>();
  if (quantize == nullptr && dequantize == nullptr) return unsupported("no quantization");
  const Operand &x = problem.input(0), &y = problem.output(), &scale = problem.input(1);
  Description d;
  d.quantizes = quantize != nullptr;
  const auto real = cpu::element_type(d.quantizes ? x.type : y.type);
  const auto quantized = quantized_type(d.quantizes ? y.type : x.type);
  const auto scale_type = cpu::element_type(scale.type);
  if (!real || !scale_type || !quantized || (d.quantizes && *quantized == cpu::QuantizedType::i32))
    return unsupported("types other than f32, bf16, i8 and u8");
  d.real = *real, d.quantized = *quantized, d.scale_type = *scale_type;
  if ((d.quantizes ? quantize->block_size : dequantize->block_size) != 0)
    return unsupported("scales of blocks");
  if (x.count() == 0) return unsupported("an empty tensor");
  if (!x.dense() || !y.dense() || !scale.dense() || (x.rank() > 2 && x.layout != y.layout))
    return unsupported("not dense");
  d.has_zero = problem.has_input(2);
  if (d.has_zero) {
    d.zero_type = problem.input(2).type;
    if (!quantized_type(d.zero_type) || !problem.input(2).dense() ||
        problem.input(2).count() != scale.count())
      return unsupported("zero points of {}; takes as many 8-bit integers as scales",
                         name_of(d.zero_type));
    // Sums of i32 and their zero points may not be exact in float.
    if (d.zero_type == DataType::kInt32) return unsupported("zero points of i32");
  }
  if (d.quantized == cpu::QuantizedType::i32 && d.has_zero)
    return unsupported("zero points of i32");
  TENON_TRY(describe_groups(x, scale, d.quantizes ? quantize->axis : dequantize->axis, d));
  return d;
}

class QuantizeKernel final : public Kernel {
 public:
  QuantizeKernel(const Problem& problem, const Description& description)
      : d_(description), functions_(cpu::quantize_functions(cpu::isa_up_to(problem.isa_limit))) {}

  Status run(const LaunchArguments& arguments) const override {
    auto* scales = static_cast<float*>(arguments.workspace);
    float* zeros = scales + d_.extent;
    for (int64_t i = 0; i < d_.extent; ++i) {
      scales[i] = scale(arguments.inputs[1], i);
      zeros[i] = d_.has_zero ? zero(arguments.inputs[2], i) : 0.0f;
    }
    const bool each = d_.inner == 1 && d_.extent > 1;
    const int64_t row = each ? d_.extent : d_.inner;
    const int64_t pieces = ceil_div(row, kPiece);
    const int64_t rows = d_.outer * (each ? 1 : d_.extent);
    arguments.queue.pool->for_each(
        rows * pieces, std::max<int64_t>(1, kPiece / row), [&](int64_t i) {
          const int64_t first = i % pieces * kPiece, group = each ? first : i / pieces % d_.extent;
          piece(arguments, i / pieces * row + first, std::min(kPiece, row - first), scales + group,
                zeros + group, each);
        });
    return {};
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(2 * d_.extent) * sizeof(float);
  }

 private:
  static constexpr int64_t kPiece = 16384;

  void piece(const LaunchArguments& arguments, int64_t at, int64_t count, const float* scales,
             const float* zeros, bool each) const {
    const int64_t real = cpu::element_size(d_.real), quantized = cpu::quantized_size(d_.quantized);
    const cpu::QuantizeRun run{
        d_.real,
        d_.quantized,
        static_cast<const char*>(arguments.inputs[0]) + at * (d_.quantizes ? real : quantized),
        static_cast<char*>(arguments.outputs[0]) + at * (d_.quantizes ? quantized : real),
        count,
        scales,
        zeros,
        each};
    d_.quantizes ? functions_.quantize(run) : functions_.dequantize(run);
  }

  float scale(const void* scales, int64_t i) const {
    if (d_.scale_type == cpu::ElementType::f32) return static_cast<const float*>(scales)[i];
    const uint32_t bits = static_cast<const uint16_t*>(scales)[i];
    return __builtin_bit_cast(float, bits << 16);
  }
  float zero(const void* zeros, int64_t i) const {
    return d_.zero_type == DataType::kInt8
               ? static_cast<float>(static_cast<const int8_t*>(zeros)[i])
               : static_cast<float>(static_cast<const uint8_t*>(zeros)[i]);
  }

  Description d_;
  const cpu::QuantizeFunctions& functions_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<QuantizeKernel>)

}  // namespace tenon::tactics::quantize_runs
