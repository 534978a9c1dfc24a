#include "kernels/gemm/hopper_start_cuda.h"

namespace tenon::hopper {
namespace {

bool varies_by_column_alone(const std::vector<int64_t>& strides, const Extents& extents,
                            size_t column_axis) {
  for (size_t i = 0; i < strides.size(); ++i)
    if (i != column_axis && extents[i] != 1 && strides[i] != 0) return false;
  return true;
}

/// The operand that the epilogue's first step adds, and how it lies; -1 where that is no sum.
Result<ExtraStep> first_sum(const Problem& problem, const Epilogue& epilogue) {
  if (!epilogue.before.empty()) return epilogue.before[0];
  if (epilogue.steps.empty()) return ExtraStep{};
  const RegionStep& step = epilogue.steps[0];
  ExtraStep sum{step.function, step.operand, {}};
  if (step.operand < 0) return sum;
  TENON_ASSIGN(sum.strides,
               broadcast_strides(problem.input(step.operand), problem.output().extents));
  return sum;
}

}  // namespace

Result<JitArgument> take_bias(KernelCode& code, const Problem& problem, const Tiling& tiling,
                              const IndexLoop& loop, size_t column_axis, Epilogue& epilogue) {
  TENON_ASSIGN(const ExtraStep sum, first_sum(problem, epilogue));
  if (tiling.splits > 1 || sum.function != PointwiseFunction::k_add || sum.operand < 0)
    return JitArgument::null();
  const Operand& bias = problem.input(sum.operand);
  if (!is_real(bias.type) || device_type(bias.type) == nullptr ||
      wide_type(bias.type) != std::string_view("f32") ||
      !varies_by_column_alone(sum.strides, problem.output().extents, column_axis))
    return JitArgument::null();
  code.text("#define BIASED\n");
  code.type("Bias", bias.type);
  code.located("BiasAt", loop, bias, sum.strides);
  code.flag("kBiasConstant", bias.constant != nullptr);
  if (epilogue.before.empty()) {
    epilogue.steps.erase(epilogue.steps.begin());
  } else {
    epilogue.before.erase(epilogue.before.begin());
  }
  return JitArgument::input(sum.operand);
}

}  // namespace tenon::hopper
