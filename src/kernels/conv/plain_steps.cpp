#include "kernels/conv/plain_steps.h"

namespace tenon::cpu {

bool has_plain_steps(const ConvProblem& p) {
  if (p.steps.size() > kMaxConvSteps) return false;
  const int bias = register_epilogue(p.steps, p.output_type).bias;
  for (int i = 0; i < static_cast<int>(p.steps.size()); ++i)
    if (i != bias && p.steps[i].operand != OperandKind::none) return false;
  return true;
}

void finish_line(FinishFunction finish, const ConvProblem& problem, int rest, float* line,
                 int64_t pixels, int64_t stride, int64_t channels) {
  static constexpr EpilogueOperand kNoOperands[kMaxConvSteps] = {};
  const auto steps = std::span<const EpilogueStep>(problem.steps).subspan(rest);
  if (steps.empty()) return;
  finish({.tile = line,
          .tile_stride = stride,
          .rows = pixels,
          .columns = channels,
          .output = line,
          .output_stride = stride},
         steps, kNoOperands);
}

}  // namespace tenon::cpu
