#include "kernels/gemm/hopper_start_cuda.h"

namespace tenon::hopper {
namespace {

bool varies_by_column_alone(const std::vector<int64_t>& strides, const Extents& extents,
                            size_t column_axis) {
  for (size_t i = 0; i < strides.size(); ++i)
    if (i != column_axis && extents[i] != 1 && strides[i] != 0) return false;
  return true;
}

/// The first step behind the products with its operand, and the operand's layout; no operand where
/// there is none.
Result<ExtraStep> first_step(const Problem& problem, const AnchoredRegion& region,
                             const std::vector<ExtraStep>& before) {
  if (!before.empty()) return before[0];
  if (region.steps.empty() || reaches_before(region, 1)) return ExtraStep{};
  const RegionStep& step = region.steps[0];
  ExtraStep first{step.function, step.operand, {}};
  if (step.operand < 0) return first;
  TENON_ASSIGN(first.strides,
               broadcast_strides(problem.input(step.operand), extents_of_steps(problem, region)));
  return first;
}

}  // namespace

Result<JitArgument> take_bias(KernelCode& code, const Problem& problem, const Tiling& tiling,
                              const IndexLoop& loop, size_t column_axis, AnchoredRegion& region,
                              std::vector<ExtraStep>& before) {
  TENON_ASSIGN(const ExtraStep sum, first_step(problem, region, before));
  if (tiling.splits > 1 || sum.function != PointwiseFunction::k_add || sum.operand < 0)
    return JitArgument::null();
  const Operand& bias = problem.input(sum.operand);
  if (!is_real(bias.type) || device_type(bias.type) == nullptr ||
      wide_type(bias.type) != std::string_view("f32") ||
      !varies_by_column_alone(sum.strides, extents_of_steps(problem, region), column_axis))
    return JitArgument::null();
  code.text("#define BIASED\n");
  code.type("Bias", bias.type);
  code.located("BiasAt", loop, bias, sum.strides);
  code.flag("kBiasConstant", bias.constant != nullptr);
  if (before.empty()) {
    region.steps.erase(region.steps.begin());
  } else {
    before.erase(before.begin());
  }
  return JitArgument::input(sum.operand);
}

}  // namespace tenon::hopper
