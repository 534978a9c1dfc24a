#include "kernels/attention/describe.h"

#include <cmath>

#include "kernels/strides.h"
#include "ops/nn.h"
#include "ops/scalar_steps.h"

namespace tenon::cpu {
namespace {

/// An operand as [batch, heads, length, size] with strides.
struct View {
  int64_t batch, heads, length, size;
  HeadStrides strides;
  int64_t element;
};

View view_of(const Operand& operand, int64_t heads, bool bsnh) {
  const Extents& e = operand.extents;
  const std::vector<int64_t> s = strides_of(operand);
  if (operand.rank() == 3)
    return {e[0], heads, e[1], e[2] / heads, {s[0], e[2] / heads * s[2], s[1]}, s[2]};
  if (bsnh) return {e[0], e[2], e[1], e[3], {s[0], s[2], s[1]}, s[3]};
  return {e[0], e[1], e[2], e[3], {s[0], s[1], s[2]}, s[3]};
}

std::array<int64_t, 4> mask_strides(const Operand& mask) {
  const std::vector<int64_t> s = strides_of(mask);
  std::array<int64_t, 4> result{};
  for (int i = 0; i < mask.rank(); ++i) {
    const int axis = i + 4 - mask.rank();
    result[axis] = mask.extents[i] == 1 ? 0 : s[i];
  }
  return result;
}

std::vector<ScoreStep> steps_of(const std::vector<std::string>& texts) {
  std::vector<ScoreStep> steps;
  for (const ScalarStep& step : parse_scalar_steps(texts).value_or(std::vector<ScalarStep>())) {
    ScoreStep made;
    made.instruction.function = step.function;
    made.instruction.alpha = step.alpha;
    made.instruction.beta = step.beta;
    made.number_first = step.number_first;
    double number = step.number;
    // Many times as fast.
    if (step.function == PointwiseFunction::k_div && !step.number_first && number != 0) {
      made.instruction.function = PointwiseFunction::k_mul;
      number = 1 / number;
    }
    if (step.has_number()) made.number.assign(kMostKeys, static_cast<float>(number));
    steps.push_back(std::move(made));
  }
  return steps;
}

void set_rounding(AttentionProblem& p, const Attention& op) {
  p.weights_step = static_cast<float>(op.weights_step);
  p.weights_limit = static_cast<float>(op.weights_limit);
  if (op.weights_type == DataType::kFloat8E4M3) p.weights_places = 3, p.weights_least = 0x1p-6f;
  if (op.weights_type == DataType::kFloat8E5M2) p.weights_places = 2, p.weights_least = 0x1p-14f;
}

Status check(const Problem& problem) {
  const auto* op = problem.operation.as<Attention>();
  if (op == nullptr) return unsupported("not attention");
  if (problem.outputs.size() > 1) return unsupported("more than the result is wanted");
  for (int i = kMask + 1; i < static_cast<int>(problem.inputs.size()); ++i)
    if (problem.has_input(i)) return unsupported("a past or lengths of sequences are given");
  const DataType type = problem.input(kQ).type;
  if (type != DataType::kFloat32 && type != DataType::kBFloat16)
    return unsupported("the type is neither f32 nor bf16");
  for (const int operand : {kQ, kK, kV})
    if (problem.input(operand).count() == 0) return unsupported("an empty tensor");
  if (problem.has_input(kMask)) {
    const Operand& mask = problem.input(kMask);
    if (mask.rank() > 4) return unsupported("a mask of more than 4 axes");
    if (mask.type != DataType::kBool && mask.type != DataType::kFloat32 &&
        mask.type != DataType::kBFloat16)
      return unsupported("the mask's type");
    if (mask.rank() > 0 && mask.extents.back() != 1 &&
        mask.extents.back() !=
            problem.input(kK).extents[op->k_bsnh || problem.input(kK).rank() == 3 ? 1 : 2])
      return unsupported("a mask shorter than the keys");
  }
  const View views[] = {view_of(problem.input(kQ), op->q_heads, op->q_bsnh),
                        view_of(problem.input(kK), op->kv_heads, op->k_bsnh),
                        view_of(problem.input(kV), op->kv_heads, op->v_bsnh),
                        view_of(problem.output(), op->q_heads, op->out_bsnh)};
  for (const View& view : views)
    if (view.element != 1 && view.size != 1)
      return unsupported("the elements of a head are not contiguous");
  return {};
}

}  // namespace

Result<AttentionProblem> describe_attention(const Problem& problem) {
  TENON_TRY(check(problem));
  const auto& op = *problem.operation.as<Attention>();
  const View q = view_of(problem.input(kQ), op.q_heads, op.q_bsnh),
             k = view_of(problem.input(kK), op.kv_heads, op.k_bsnh);
  const View v = view_of(problem.input(kV), op.kv_heads, op.v_bsnh);
  const View out = view_of(problem.output(), q.heads, op.out_bsnh);
  AttentionProblem p;
  p.bf16 = problem.input(kQ).type == DataType::kBFloat16;
  p.isa = isa_up_to(problem.isa_limit);
  p.batch = q.batch;
  p.heads = q.heads;
  p.kv_heads = k.heads;
  p.q_length = q.length;
  p.kv_length = k.length;
  p.size = q.size;
  p.value_size = v.size;
  p.q = q.strides;
  p.k = k.strides;
  p.v = v.strides;
  p.out = out.strides;
  p.scale =
      static_cast<float>(op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(q.size)));
  p.softcap = static_cast<float>(op.softcap);
  p.causal = op.causal != CausalMask::kNone;
  p.diagonal = op.causal == CausalMask::kLowerRight ? k.length - q.length : 0;
  p.masked_rows_zero = op.masked_rows_zero;
  p.steps = steps_of(op.score_steps);
  p.masked_steps = steps_of(op.masked_steps);
  p.weight_steps = steps_of(op.weight_steps);
  set_rounding(p, op);
  if (problem.has_input(kMask)) {
    const DataType type = problem.input(kMask).type;
    p.mask = type == DataType::kBool      ? MaskKind::boolean
             : type == DataType::kFloat32 ? MaskKind::f32
                                          : MaskKind::bf16;
    p.mask_strides = mask_strides(problem.input(kMask));
  }
  return p;
}

}  // namespace tenon::cpu
