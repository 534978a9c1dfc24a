#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/image.h"
#include "kernels/sampling/deform.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics::deform_sampled {
namespace {

enum Input { kImage, kWeights, kOffsets, kBias, kMask };

bool is_absent_or_plain_f32(const Operand& operand) {
  return !operand.present || (operand.type == DataType::kFloat32 && is_plain(operand));
}

/// See DeformProblem::x_pixel.
Result<int64_t> pixel_of(const Operand& image) {
  if (image.type != DataType::kFloat32) return unsupported("a type other than f32");
  if (const auto pixel = pixel_stride(image)) return *pixel;
  if (!image.dense()) return unsupported("an image with gaps");
  return 0;
}

const Operand* operand_of(const Problem& problem, int input) {
  return problem.has_input(input) ? &problem.input(input) : nullptr;
}

Result<cpu::DeformProblem> describe(const Problem& problem) {
  const auto* op = problem.operation.as<DeformConv>();
  if (op == nullptr) return unsupported("not a deformable convolution");
  const Operand &x = problem.input(kImage), &w = problem.input(kWeights), &y = problem.output();
  if (w.constant == nullptr || !is_absent_or_plain_f32(w))
    return unsupported("weights that are not constant");
  for (const int input : {kOffsets, kBias, kMask})
    if (const Operand* operand = operand_of(problem, input);
        operand != nullptr && !is_absent_or_plain_f32(*operand))
      return unsupported("operand {} is not dense f32", input);
  if (x.count() == 0 || y.count() == 0 || w.count() == 0) return unsupported("an empty tensor");
  cpu::DeformProblem p;
  TENON_ASSIGN(p.x_pixel, pixel_of(x));
  TENON_ASSIGN(p.y_pixel, pixel_of(y));
  p.batch = x.extents[0], p.channels = x.extents[1], p.filters = y.extents[1];
  p.groups = op->groups, p.offset_groups = op->offset_groups;
  for (size_t i = 0; i < p.input.size(); ++i) {
    p.input[i] = x.extents[i + 2], p.output[i] = y.extents[i + 2], p.kernel[i] = w.extents[i + 2];
    p.stride[i] = attribute_at(op->strides, i, 1),
    p.dilation[i] = attribute_at(op->dilations, i, 1);
    p.pad[i] = attribute_at(op->pads_begin, i);
  }
  p.has_bias = problem.has_input(kBias), p.has_mask = problem.has_input(kMask);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.threads = std::max(1, problem.threads);
  p.packed = problem.packed;
  return p;
}

class DeformKernel final : public Kernel {
 public:
  DeformKernel(cpu::DeformConvolution conv, int threads)
      : conv_(std::move(conv)), threads_(threads) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
    const auto floats = [&](size_t input) {
      return input < arguments.inputs.size() ? static_cast<const float*>(arguments.inputs[input])
                                             : nullptr;
    };
    const cpu::DeformArguments own{floats(kImage), floats(kOffsets), floats(kBias), floats(kMask),
                                   static_cast<float*>(arguments.outputs[0])};
    conv_.run(own, *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return conv_.scratch_bytes(); }
  bool uses_input(int input) const override { return input != kWeights; }
  std::span<const std::byte> packed() const override { return conv_.packed(); }
  bool packs_input(int input) const override { return input == kWeights; }

 private:
  cpu::DeformConvolution conv_;
  int threads_;
};

Result<std::unique_ptr<Kernel>> make(const Problem& problem, const cpu::DeformProblem& p) {
  TENON_ASSIGN(cpu::DeformConvolution conv,
               cpu::DeformConvolution::prepare(p, problem.input(kWeights).constant->bytes()));
  return make_kernel<DeformKernel>(std::move(conv), p.threads);
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make)

}  // namespace tenon::tactics::deform_sampled
