#include <cmath>

#include "device/cpu/thread_pool.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/columns.h"
#include "kernels/tactic.h"
#include "ops/nn.h"
#include "ops/scalar_steps.h"

namespace tenon::tactics {
namespace {

enum Input { kQ, kK, kV, kMask };

std::vector<int64_t> strides_of(const Operand& operand) {
  return operand.dense() ? dense_strides(operand.extents, operand.layout) : operand.strides;
}

/// An operand as [batch, heads, length, size] with strides.
struct View {
  int64_t batch, heads, length, size;
  cpu::HeadStrides strides;
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

std::vector<cpu::ScoreStep> steps_of(const Attention& op) {
  std::vector<cpu::ScoreStep> steps;
  for (const ScalarStep& step :
       parse_scalar_steps(op.score_steps).value_or(std::vector<ScalarStep>())) {
    cpu::ScoreStep made;
    made.instruction.function = step.function;
    made.instruction.alpha = step.alpha;
    made.instruction.beta = step.beta;
    made.number_first = step.number_first;
    if (step.has_number()) made.number.assign(cpu::kMostKeys, static_cast<float>(step.number));
    steps.push_back(std::move(made));
  }
  return steps;
}

void set_rounding(cpu::AttentionProblem& p, const Attention& op) {
  p.weights_step = static_cast<float>(op.weights_step);
  p.weights_limit = static_cast<float>(op.weights_limit);
  if (op.weights_type == DataType::kFloat8E4M3) p.weights_places = 3, p.weights_least = 0x1p-6f;
  if (op.weights_type == DataType::kFloat8E5M2) p.weights_places = 2, p.weights_least = 0x1p-14f;
}

cpu::AttentionProblem describe(const Problem& problem) {
  const auto& op = *problem.operation.as<Attention>();
  const View q = view_of(problem.input(kQ), op.q_heads, op.q_bsnh),
             k = view_of(problem.input(kK), op.kv_heads, op.k_bsnh);
  const View v = view_of(problem.input(kV), op.kv_heads, op.v_bsnh);
  const View out = view_of(problem.output(), q.heads, op.out_bsnh);
  cpu::AttentionProblem p;
  p.bf16 = problem.input(kQ).type == DataType::kBFloat16;
  p.isa = cpu::isa_up_to(problem.isa_limit);
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
  p.steps = steps_of(op);
  set_rounding(p, op);
  if (problem.has_input(kMask)) {
    const DataType type = problem.input(kMask).type;
    p.mask = type == DataType::kBool      ? cpu::MaskKind::boolean
             : type == DataType::kFloat32 ? cpu::MaskKind::f32
                                          : cpu::MaskKind::bf16;
    p.mask_strides = mask_strides(problem.input(kMask));
  }
  return p;
}

/// The two ways to compute it.
struct Method {
  decltype(&cpu::attention) run;
  decltype(&cpu::attention_scratch_bytes) scratch_bytes;
};

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const cpu::AttentionProblem& problem, int threads, Method method)
      : problem_(problem), threads_(threads), method_(method) {}

  Status run(const LaunchArguments& arguments) const override {
    const void* mask = arguments.inputs.size() > kMask ? arguments.inputs[kMask] : nullptr;
    method_.run(problem_,
                {arguments.inputs[kQ], arguments.inputs[kK], arguments.inputs[kV], mask,
                 arguments.outputs[0]},
                *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return method_.scratch_bytes(problem_, threads_); }

 private:
  cpu::AttentionProblem problem_;
  int threads_;
  Method method_;
};

Support is_supported(const Problem& problem) {
  const auto* op = problem.operation.as<Attention>();
  if (op == nullptr) return Support::no("not attention");
  if (problem.outputs.size() > 1) return Support::no("more than the result is wanted");
  for (int i = kMask + 1; i < static_cast<int>(problem.inputs.size()); ++i)
    if (problem.has_input(i)) return Support::no("a past or lengths of sequences are given");
  const DataType type = problem.input(kQ).type;
  if (type != DataType::kFloat32 && type != DataType::kBFloat16)
    return Support::no("the type is neither f32 nor bf16");
  for (const int operand : {kQ, kK, kV})
    if (problem.input(operand).count() == 0) return Support::no("an empty tensor");
  if (problem.has_input(kMask)) {
    const Operand& mask = problem.input(kMask);
    if (mask.rank() > 4) return Support::no("a mask of more than 4 axes");
    if (mask.type != DataType::kBool && mask.type != DataType::kFloat32 &&
        mask.type != DataType::kBFloat16)
      return Support::no("the mask's type");
    if (mask.rank() > 0 && mask.extents.back() != 1 &&
        mask.extents.back() !=
            problem.input(kK).extents[op->k_bsnh || problem.input(kK).rank() == 3 ? 1 : 2])
      return Support::no("a mask shorter than the keys");
  }
  const View views[] = {view_of(problem.input(kQ), op->q_heads, op->q_bsnh),
                        view_of(problem.input(kK), op->kv_heads, op->k_bsnh),
                        view_of(problem.input(kV), op->kv_heads, op->v_bsnh),
                        view_of(problem.output(), op->q_heads, op->out_bsnh)};
  for (const View& view : views)
    if (view.element != 1 && view.size != 1)
      return Support::no("the elements of a head are not contiguous");
  return {};
}

}  // namespace

namespace attention_blocked {

Support supports(const Problem& problem) {
  return is_supported(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  const Method method{cpu::attention, cpu::attention_scratch_bytes};
  return make_kernel<AttentionKernel>(describe(problem), problem.threads, method);
}

}  // namespace attention_blocked

namespace attention_columns {

Support supports(const Problem& problem) {
  if (const Support support = is_supported(problem); !support) return support;
  const cpu::AttentionProblem p = describe(problem);
  if (p.bf16) return Support::no("bf16");
  if (p.weights_step > 0) return Support::no("weights that are rounded");
  if (!p.steps.empty()) return Support::no("functions of the scores");
  if (p.q_length < 16) return Support::no("too few queries to fill a vector");
  if (p.mask != cpu::MaskKind::none && p.mask_strides[2] != 0)
    return Support::no("a mask that differs between queries");
  return {};
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  const Method method{cpu::attention_columns, cpu::attention_columns_scratch_bytes};
  return make_kernel<AttentionKernel>(describe(problem), problem.threads, method);
}

}  // namespace attention_columns

}  // namespace tenon::tactics
