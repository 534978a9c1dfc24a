
#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/image.h"
#include "kernels/pooling/planes.h"
#include "kernels/pooling/pool.h"
#include "ops/nn.h"
#include "ops/nn_window.h"

namespace tenon::tactics {
namespace {

/// Padding before the first tap of one axis: given, or computed for SAME for the output's extent.
int64_t pad_before(const Pool& op, size_t axis, int64_t in, int64_t out, int64_t kernel,
                   int64_t stride, int64_t dilation) {
  if (op.pad_mode == PadMode::kExplicit) return axis_or(op.pads_begin, axis, 0);
  return pad_ahead(op.pad_mode, (out - 1) * stride + (kernel - 1) * dilation + 1 - in);
}

std::optional<cpu::PoolType> pool_type(DataType type) {
  if (type == DataType::kFloat32) return cpu::PoolType::f32;
  if (type == DataType::kBFloat16) return cpu::PoolType::bf16;
  if (type == DataType::kInt8) return cpu::PoolType::i8;
  if (type == DataType::kUInt8) return cpu::PoolType::u8;
  return std::nullopt;
}

/// One spatial axis.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

Axis axis_of(const Pool& op, size_t i, const Extents& in, const Extents& out) {
  Axis a{in[i + 2], out[i + 2], op.kernel[i], axis_or(op.strides, i, 1),
         axis_or(op.dilations, i, 1)};
  a.before = pad_before(op, i, a.in, a.out, a.kernel, a.stride, a.dilation);
  a.after = axis_or(op.pads_end, i, 0);
  return a;
}

cpu::PoolProblem describe(const Problem& problem) {
  const auto& op = *problem.operation.as<Pool>();
  const Extents &in = problem.input(0).extents, &out = problem.output().extents;
  cpu::PoolProblem p;
  p.kind = op.function == PoolFunction::kMax       ? cpu::PoolKind::max
           : op.function == PoolFunction::kAverage ? cpu::PoolKind::average
                                                   : cpu::PoolKind::lp;
  p.p = op.p;
  p.count_padding = op.count_include_pad;
  p.type = *pool_type(problem.input(0).type);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.batch = in[0];
  p.channels = in[1];
  // The last axis is the width; axes that an image lacks have one place and a window of one.
  const size_t axes = in.size() - 2;
  const auto axis = [&](size_t from_end) {
    return axes > from_end ? axis_of(op, axes - 1 - from_end, in, out) : Axis{};
  };
  const Axis w = axis(0), h = axis(1), d = axis(2);
  p.in_width = w.in, p.out_width = w.out, p.kernel_w = w.kernel, p.stride_w = w.stride;
  p.dilation_w = w.dilation, p.pad_left = w.before, p.pad_right = w.after;
  p.in_height = h.in, p.out_height = h.out, p.kernel_h = h.kernel, p.stride_h = h.stride;
  p.dilation_h = h.dilation, p.pad_top = h.before, p.pad_bottom = h.after;
  p.in_depth = d.in, p.out_depth = d.out, p.kernel_d = d.kernel, p.stride_d = d.stride;
  p.dilation_d = d.dilation, p.pad_front = d.before, p.pad_back = d.after;
  p.in_pixel = pixel_stride(problem.input(0)).value_or(1);
  p.out_pixel = pixel_stride(problem.output()).value_or(1);
  return p;
}

template <auto kRun> class PoolKernel final : public Kernel {
 public:
  PoolKernel(const Problem&, const cpu::PoolProblem& pool) : problem_(pool) {}
  Status run(const LaunchArguments& arguments) const override {
    kRun(problem_, arguments.inputs[0], arguments.outputs[0], *arguments.queue.pool);
    return {};
  }

 private:
  cpu::PoolProblem problem_;
};

/// Shared by both layouts.
Status check(const Problem& problem) {
  const auto* op = problem.operation.as<Pool>();
  if (op == nullptr) return unsupported("not pooling");
  if (problem.outputs.size() != 1) return unsupported("indices are wanted");
  if (!pool_type(problem.input(0).type))
    return unsupported("the type is none of f32, bf16, i8 and u8");
  if (problem.input(0).rank() > 5) return unsupported("more than three spatial axes");
  if (op->count_include_pad && op->pad_mode != PadMode::kExplicit)
    return unsupported("SAME padding that counts for the average");
  return {};
}

bool of_reals(const Problem& problem) {
  const cpu::PoolType type = *pool_type(problem.input(0).type);
  return type == cpu::PoolType::f32 || type == cpu::PoolType::bf16;
}

Result<cpu::PoolProblem> describe_nhwc(const Problem& problem) {
  TENON_TRY(check(problem));
  if (!of_reals(problem) && problem.operation.as<Pool>()->function != PoolFunction::kMax)
    return unsupported("sums of bytes");
  if (!pixel_stride(problem.input(0)) || !pixel_stride(problem.output()))
    return unsupported("not channels-last");
  return describe(problem);
}

Result<cpu::PoolProblem> describe_planes(const Problem& problem) {
  TENON_TRY(check(problem));
  if (!of_reals(problem)) return unsupported("bytes");
  for (const Operand* operand : {&problem.input(0), &problem.output()})
    if (!operand->dense() || operand->layout != Layout::kRowMajor)
      return unsupported("not row-major");
  return describe(problem);
}

}  // namespace

namespace pool_nhwc {
TENON_DESCRIBED_TACTIC(describe_nhwc, make_kernel<PoolKernel<cpu::pool>>)
}

namespace pool_planes {
TENON_DESCRIBED_TACTIC(describe_planes, make_kernel<PoolKernel<cpu::pool_planes>>)
}

}  // namespace tenon::tactics
