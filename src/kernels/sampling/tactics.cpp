#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/sampling/sampling.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace {

/// Axes [first, last) as one: the stride that serves for all of them.
Result<int64_t> joint_stride(const Operand& operand, int first, int last) {
  const std::vector<int64_t> strides = strides_of(operand);
  int64_t step = 0, expected = 0;
  for (int i = last - 1; i >= first; --i) {
    if (operand.extents[i] == 1) continue;
    if (step == 0)
      step = strides[i];
    else if (strides[i] != expected)
      return unsupported("pixels that are not evenly spaced");
    expected = strides[i] * operand.extents[i];
  }
  return step;
}

int64_t count_of(const Extents& extents, int first, int last) {
  int64_t count = 1;
  for (int i = first; i < last; ++i) count *= extents[i];
  return count;
}

Result<cpu::GridSampleProblem> describe_sampling(const Problem& problem) {
  const auto* op = problem.operation.as<GridSample>();
  if (op == nullptr) return unsupported("not sampling at a grid");
  const Operand &x = problem.input(0), &grid = problem.input(1), &y = problem.output();
  const auto type = cpu::element_type(x.type);
  if (!type || grid.type != x.type) return unsupported("types other than f32 and bf16 alone");
  if (x.rank() > 2 + cpu::kMostSampledAxes) return unsupported("more than three spatial axes");
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty tensor");
  const std::vector<int64_t> from = strides_of(x), at = strides_of(grid), to = strides_of(y);
  const int last = grid.rank() - 1;
  if (grid.extents[last] != 1 && at[last] != 1)
    return unsupported("coordinates of a point that lie apart");
  cpu::GridSampleProblem p;
  p.type = *type;
  p.mode = static_cast<cpu::SampleMode>(op->mode);
  p.padding = static_cast<cpu::SamplePadding>(op->padding);
  p.align_corners = op->align_corners;
  p.axes = x.rank() - 2;
  p.batch = y.extents[0], p.channels = y.extents[1], p.points = count_of(y.extents, 2, y.rank());
  for (int i = 0; i < p.axes; ++i) p.extents[i] = x.extents[i + 2], p.x_strides[i] = from[i + 2];
  p.x_image = from[0], p.x_channel = from[1];
  p.grid_image = at[0], p.y_image = to[0], p.y_channel = to[1];
  TENON_ASSIGN(p.grid_point, joint_stride(grid, 1, last));
  TENON_ASSIGN(p.y_point, joint_stride(y, 2, y.rank()));
  return p;
}

Result<cpu::LrnProblem> describe_lrn(const Problem& problem) {
  const auto* op = problem.operation.as<Lrn>();
  if (op == nullptr) return unsupported("not a local response normalization");
  const Operand &x = problem.input(0), &y = problem.output();
  const auto type = cpu::element_type(x.type);
  if (!type) return unsupported("type {}; takes f32, bf16", name_of(x.type));
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  cpu::LrnProblem p;
  p.type = *type;
  p.images = x.extents[0], p.channels = x.extents[1], p.pixels = count_of(x.extents, 2, x.rank());
  p.x_image = from[0], p.x_channel = from[1];
  p.y_image = to[0], p.y_channel = to[1];
  TENON_ASSIGN(p.x_pixel, joint_stride(x, 2, x.rank()));
  TENON_ASSIGN(p.y_pixel, joint_stride(y, 2, y.rank()));
  p.size = op->size;
  p.alpha = static_cast<float>(op->alpha), p.beta = static_cast<float>(op->beta);
  p.bias = static_cast<float>(op->bias);
  return p;
}

class GridSampleKernel final : public Kernel {
 public:
  GridSampleKernel(const Problem&, const cpu::GridSampleProblem& problem) : problem_(problem) {}
  Status run(const LaunchArguments& arguments) const override {
    cpu::grid_sample(problem_, arguments.inputs[0], arguments.inputs[1], arguments.outputs[0],
                     *arguments.queue.pool);
    return {};
  }

 private:
  cpu::GridSampleProblem problem_;
};

class LrnKernel final : public Kernel {
 public:
  LrnKernel(const Problem&, const cpu::LrnProblem& problem) : problem_(problem) {}
  Status run(const LaunchArguments& arguments) const override {
    cpu::lrn(problem_, arguments.inputs[0], arguments.outputs[0], *arguments.queue.pool);
    return {};
  }

 private:
  cpu::LrnProblem problem_;
};

}  // namespace

namespace grid_sample_points {
TENON_DESCRIBED_TACTIC(describe_sampling, make_kernel<GridSampleKernel>)
}  // namespace grid_sample_points

namespace lrn_channels {
TENON_DESCRIBED_TACTIC(describe_lrn, make_kernel<LrnKernel>)
}  // namespace lrn_channels

}  // namespace tenon::tactics
