#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "kernels/image.h"
#include "kernels/pooling/pool.h"
#include "kernels/tactic.h"
#include "ops/nn.h"

namespace tenon::tactics::pool_nhwc {
namespace {

int64_t at(const std::vector<int64_t>& values, size_t index, int64_t otherwise) {
  return index < values.size() ? values[index] : otherwise;
}

/// Padding before the first tap of one axis: given, or what SAME needs for the output's extent.
int64_t pad_before(const Pool& op, size_t axis, int64_t in, int64_t out, int64_t kernel,
                   int64_t stride, int64_t dilation) {
  if (op.pad_mode == PadMode::kExplicit) return at(op.pads_begin, axis, 0);
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in);
  return op.pad_mode == PadMode::kSameUpper ? total / 2 : total - total / 2;
}

std::optional<cpu::PoolType> pool_type(DataType type) {
  if (type == DataType::kFloat32) return cpu::PoolType::f32;
  if (type == DataType::kBFloat16) return cpu::PoolType::bf16;
  if (type == DataType::kInt8) return cpu::PoolType::i8;
  if (type == DataType::kUInt8) return cpu::PoolType::u8;
  return std::nullopt;
}

cpu::PoolProblem describe(const Problem& problem) {
  const auto& op = *problem.node->as<Pool>();
  const Extents &in = problem.input(0).extents, &out = problem.output().extents;
  const bool flat = in.size() == 3;  // One spatial axis counts as the width.
  cpu::PoolProblem p;
  p.average = op.function == PoolFunction::kAverage;
  p.count_padding = op.count_include_pad;
  p.type = *pool_type(problem.input(0).type);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.batch = in[0];
  p.channels = in[1];
  p.in_height = flat ? 1 : in[2];
  p.out_height = flat ? 1 : out[2];
  p.in_width = in.back();
  p.out_width = out.back();
  const size_t w = flat ? 0 : 1;
  if (!flat) {
    p.kernel_h = op.kernel[0];
    p.stride_h = at(op.strides, 0, 1);
    p.dilation_h = at(op.dilations, 0, 1);
    p.pad_top = pad_before(op, 0, p.in_height, p.out_height, p.kernel_h, p.stride_h, p.dilation_h);
    p.pad_bottom = at(op.pads_end, 0, 0);
  }
  p.kernel_w = op.kernel[w];
  p.stride_w = at(op.strides, w, 1);
  p.dilation_w = at(op.dilations, w, 1);
  p.pad_left = pad_before(op, w, p.in_width, p.out_width, p.kernel_w, p.stride_w, p.dilation_w);
  p.pad_right = at(op.pads_end, w, 0);
  p.in_pixel = *pixel_stride(problem.input(0));
  p.out_pixel = *pixel_stride(problem.output());
  return p;
}

class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(const cpu::PoolProblem& problem) : problem_(problem) {}
  Status run(const LaunchArguments& arguments) const override {
    cpu::pool(problem_, arguments.inputs[0], arguments.outputs[0], *arguments.queue.pool);
    return {};
  }

 private:
  cpu::PoolProblem problem_;
};

}  // namespace

Support supports(const Problem& problem) {
  const auto* op = problem.node->as<Pool>();
  if (op == nullptr) return Support::no("not pooling");
  if (op->function == PoolFunction::kLp) return Support::no("Lp pooling");
  if (problem.outputs.size() != 1) return Support::no("indices are wanted");
  const auto type = pool_type(problem.input(0).type);
  if (!type) return Support::no("the type is none of f32, bf16, i8 and u8");
  if (*type != cpu::PoolType::f32 && *type != cpu::PoolType::bf16 &&
      op->function != PoolFunction::kMax)
    return Support::no("an average of bytes");
  if (problem.input(0).rank() > 4) return Support::no("three spatial axes");
  if (op->count_include_pad && op->pad_mode != PadMode::kExplicit)
    return Support::no("SAME padding that counts for the average");
  if (!pixel_stride(problem.input(0)) || !pixel_stride(problem.output()))
    return Support::no("not channels-last");
  return {};
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(describe(problem)));
}

}  // namespace tenon::tactics::pool_nhwc
