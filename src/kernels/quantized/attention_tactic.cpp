#include <algorithm>
#include <array>

#include "device/cpu/thread_pool.h"
#include "kernels/attention/describe.h"
#include "kernels/cpu_tactic.h"
#include "kernels/quantized/byte_attention.h"
#include "kernels/quantized_region.h"
#include "kernels/region.h"
#include "ops/math.h"
#include "ops/nn.h"
#include "ops/structure.h"

namespace tenon::tactics::quantized_attention {
namespace {

constexpr int kOperands = 4;  // q, k, v and the mask.

/// A region in the kernel's terms, and the problem inputs of its operands.
struct Description {
  cpu::ByteAttentionProblem problem;
  std::array<int, kOperands> inputs = {-1, -1, -1, -1};
};

/// Its parts: attention, the dequantization of q, k and v, the quantization of the result.
struct Region {
  const Node* attention = nullptr;
  std::array<QuantizedOperand, 3> operands;
  std::optional<Scaling> output;
};

Result<Region> region_of(const Problem& problem) {
  if (!problem.operation.is<Fused>()) return unsupported("no region");
  const Graph& body = *problem.operation.bodies()[0];
  Region region;
  for (const auto& node : body.nodes())
    if (node->is<Attention>()) region.attention = node.get();
  if (region.attention == nullptr) return unsupported("no attention in the region");
  for (int i = 0; i < 3; ++i) {
    TENON_ASSIGN(region.operands[i], quantized_operand(problem, region.attention->input(i)));
  }
  if (body.outputs().size() != 1) return unsupported("the region has more than one output");
  if (body.outputs()[0] == region.attention->output()) return region;
  const Node& last = *body.outputs()[0]->producer();
  if (!last.is<Quantize>() || last.input(0) != region.attention->output())
    return unsupported("{} behind attention", last.op->name());
  TENON_ASSIGN(region.output, known_scaling(problem, last));
  return region;
}

float scale_of(const Problem& problem, const Scaling& scaling) {
  return static_cast<float>(problem.input(scaling.scale).constant->as_double(0));
}
int32_t zero_of(const Problem& problem, const Scaling& scaling) {
  return scaling.zero < 0 ? 0
                          : static_cast<int32_t>(problem.input(scaling.zero).constant->as_int64(0));
}

bool is_single(const Problem& problem, const Scaling& scaling) {
  return problem.input(scaling.scale).count() == 1 &&
         (scaling.zero < 0 || problem.input(scaling.zero).count() == 1);
}

/// The attention alone, of reals that lie as the bytes do.
Problem of_reals(const Problem& problem, const Region& region, Description& d) {
  Problem inner = problem;
  inner.operation = *region.attention;
  inner.inputs.clear();
  for (int i = 0; i < static_cast<int>(region.attention->inputs().size()); ++i) {
    const bool is_mask = i >= 3;
    const int input = is_mask ? input_number(region.attention->input(i)) : region.operands[i].input;
    inner.inputs.push_back(input < 0 ? Operand{} : problem.input(input));
    if (!is_mask) inner.inputs.back().type = DataType::kFloat32;
    if (i < kOperands) d.inputs[i] = input;
  }
  inner.outputs[0].type = DataType::kFloat32;
  return inner;
}

Status describe_output(const Problem& problem, const Region& region, cpu::ByteAttentionProblem& p) {
  const DataType type = problem.output().type;
  if (!region.output) {
    if (type != DataType::kFloat32) return unsupported("an output of {}", name_of(type));
    return {};
  }
  if (type != DataType::kInt8 && type != DataType::kUInt8)
    return unsupported("an output of {}", name_of(type));
  if (!is_single(problem, *region.output)) return unsupported("scales of more than one number");
  const bool is_signed = type == DataType::kInt8;
  const auto zero = static_cast<float>(zero_of(problem, *region.output));
  p.type = is_signed ? cpu::ByteType::i8 : cpu::ByteType::u8;
  p.inverse = 1.0f / scale_of(problem, *region.output);
  p.low = (is_signed ? -128.0f : 0.0f) - zero, p.high = (is_signed ? 127.0f : 255.0f) - zero;
  p.output_zero = zero;
  return {};
}

Result<Description> describe(const Problem& problem) {
  TENON_ASSIGN(const Region region, region_of(problem));
  Description d;
  cpu::ByteHeads* heads[] = {&d.problem.q, &d.problem.k, &d.problem.v};
  float scales[3];
  for (int i = 0; i < 3; ++i) {
    const QuantizedOperand& operand = region.operands[i];
    const DataType type = problem.input(operand.input).type;
    if (type != DataType::kInt8 && type != DataType::kUInt8)
      return unsupported("operands that are no bytes");
    if (!is_single(problem, operand.scaling)) return unsupported("scales of more than one number");
    *heads[i] = {type == DataType::kInt8, zero_of(problem, operand.scaling)};
    scales[i] = scale_of(problem, operand.scaling);
  }
  const Problem inner = of_reals(problem, region, d);
  for (size_t i = 3; i < inner.inputs.size(); ++i)
    if (inner.inputs[i].present != region.attention->has_input(static_cast<int>(i)))
      return unsupported("a mask that is computed in the region");
  cpu::AttentionProblem& p = d.problem.attention;
  TENON_ASSIGN(p, cpu::describe_attention(inner));
  if (p.weights_step <= 0 || p.weights_places != 0 || p.weights_limit > 255)
    return unsupported("weights that are not rounded to bytes");
  if (std::max(p.size, p.kv_length) > cpu::kMostByteDepth)
    return unsupported("sums of more than {} products", cpu::kMostByteDepth);
  d.problem.score_scale = p.scale * scales[cpu::kQ] * scales[cpu::kK];
  p.scale = 1;
  d.problem.scale = p.weights_step * scales[cpu::kV];
  TENON_TRY(describe_output(problem, region, d.problem));
  return d;
}

class ByteAttentionKernel final : public Kernel {
 public:
  ByteAttentionKernel(const Problem& problem, Description description)
      : d_(std::move(description)), threads_(problem.threads) {}

  Status run(const LaunchArguments& arguments) const override {
    const auto input = [&](int operand) -> const void* {
      return d_.inputs[operand] < 0 ? nullptr : arguments.inputs[d_.inputs[operand]];
    };
    cpu::byte_attention(
        d_.problem,
        {input(cpu::kQ), input(cpu::kK), input(cpu::kV), input(cpu::kMask), arguments.outputs[0]},
        *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override {
    return cpu::byte_attention_scratch_bytes(d_.problem, threads_);
  }
  bool uses_input(int input) const override {
    return std::find(d_.inputs.begin(), d_.inputs.end(), input) != d_.inputs.end();
  }

 private:
  Description d_;
  int threads_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<ByteAttentionKernel>)

}  // namespace tenon::tactics::quantized_attention
