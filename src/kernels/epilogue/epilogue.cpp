#include "kernels/epilogue/epilogue.h"

#include <algorithm>

#include "kernels/epilogue/finish.h"

namespace tenon::cpu {
namespace {

/// A step at or behind `rest` needs a value from before it.
bool reaches_before(std::span<const EpilogueStep> steps, int rest) {
  for (int i = rest; i < static_cast<int>(steps.size()); ++i) {
    const int back = steps[i].operand == OperandKind::earlier ? steps[i].back : 0;
    if (i - std::max<int>(steps[i].from, back) < rest) return true;
  }
  return false;
}

bool takes_bias(const EpilogueStep& step) {
  return step.function == PointwiseFunction::k_add && step.operand == OperandKind::per_column &&
         step.operand_type == ElementType::f32;
}

bool takes_residual(const EpilogueStep& step, ElementType output_type) {
  return step.function == PointwiseFunction::k_add && step.operand == OperandKind::full &&
         step.operand_type == output_type && step.from == 0;
}

bool take_activation(const EpilogueStep& step, RegisterEpilogue& epilogue) {
  if (step.from != 0 || step.gates) return false;
  if (step.function == PointwiseFunction::k_relu) {
    epilogue.activation = RegisterActivation::clamp;
    epilogue.low = 0.0f;
  } else if (step.function == PointwiseFunction::k_clip) {
    epilogue.activation = RegisterActivation::clamp;
    epilogue.low = step.alpha;
    epilogue.high = step.beta;
  } else if (step.function == PointwiseFunction::k_hard_swish) {
    epilogue.activation = RegisterActivation::hard_swish;
  }
  return epilogue.activation != RegisterActivation::none;
}

}  // namespace

RegisterEpilogue register_epilogue(std::span<const EpilogueStep> steps, ElementType output_type) {
  RegisterEpilogue found;
  const int count = static_cast<int>(steps.size());
  if (count > 0 && takes_bias(steps[0]) && !reaches_before(steps, 1)) found.bias = found.rest++;
  RegisterEpilogue all = found;
  if (all.rest < count && takes_residual(steps[all.rest], output_type)) all.residual = all.rest++;
  if (all.rest < count && take_activation(steps[all.rest], all)) ++all.rest;
  // Steps that do not fit in registers need the accumulators in memory anyway: they take over right
  // after the bias.
  return all.rest == count ? all : found;
}

}  // namespace tenon::cpu
