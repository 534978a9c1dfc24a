#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/sampling/roi_align.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics::roi_align_bins {
namespace {

Result<cpu::RoiAlignProblem> describe(const Problem& problem) {
  const auto* op = problem.operation.as<RoiPool>();
  if (op == nullptr || op->function != RoiFunction::kAlignAverage)
    return unsupported("not averages over regions");
  const Operand &x = problem.input(0), &boxes = problem.input(1), &y = problem.output();
  for (const Operand* operand : {&x, &boxes, &y})
    if (operand->type != DataType::kFloat32) return unsupported("types other than f32");
  if (!boxes.dense()) return unsupported("regions with gaps");
  if (problem.has_input(2) &&
      (problem.input(2).type != DataType::kInt64 || !problem.input(2).dense()))
    return unsupported("batch indices that are not dense i64");
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty tensor");
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  return cpu::RoiAlignProblem{.batch = x.extents[0],
                              .channels = x.extents[1],
                              .height = x.extents[2],
                              .width = x.extents[3],
                              .regions = y.extents[0],
                              .bin_rows = op->height,
                              .bin_columns = op->width,
                              .sampling_ratio = op->sampling_ratio,
                              .spatial_scale = static_cast<float>(op->spatial_scale),
                              .half_pixel = op->half_pixel,
                              .x_image = from[0],
                              .x_channel = from[1],
                              .x_row = from[2],
                              .x_column = from[3],
                              .y_region = to[0],
                              .y_channel = to[1],
                              .y_row = to[2],
                              .y_column = to[3],
                              .isa = cpu::isa_up_to(problem.isa_limit),
                              .threads = std::max(1, problem.threads)};
}

class RoiKernel final : public Kernel {
 public:
  RoiKernel(const Problem& problem, const cpu::RoiAlignProblem& description)
      : problem_(description), name_(problem.layer) {}
  Status run(const LaunchArguments& arguments) const override {
    const void* images = arguments.inputs.size() > 2 ? arguments.inputs[2] : nullptr;
    Status status = cpu::roi_align(
        problem_, static_cast<const float*>(arguments.inputs[0]),
        static_cast<const float*>(arguments.inputs[1]), static_cast<const int64_t*>(images),
        static_cast<float*>(arguments.outputs[0]), *arguments.queue.pool, arguments.workspace);
    if (!status.ok()) return user_error("'{}': {}", name_, status.error().message);
    return status;
  }
  size_t workspace_bytes() const override { return cpu::roi_align_scratch_bytes(problem_); }

 private:
  cpu::RoiAlignProblem problem_;
  std::string name_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<RoiKernel>)

}  // namespace tenon::tactics::roi_align_bins
