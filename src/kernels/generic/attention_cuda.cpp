// Attention with everything that it may have: a past, scores as a result, any type, any mask.
#include <cmath>

#include "base/arithmetic.h"
#include "kernels/generic/formula.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace cuda_attention_any {
namespace {

constexpr int kBlock = 128;

/// How q, k or v lie: [batch, heads, steps, size], [batch, steps, heads, size], or with heads
/// inside rows.
struct Form {
  int kind = 0;
  int64_t batch = 1, heads = 1, steps = 1, size = 1;
};

Form form_of(const Operand& operand, int64_t heads, bool steps_first) {
  const Extents& e = operand.extents;
  if (e.size() == 3) return {2, e[0], heads, e[1], heads > 0 ? e[2] / heads : 0};
  if (steps_first) return {1, e[0], e[2], e[1], e[3]};
  return {0, e[0], e[1], e[2], e[3]};
}

struct Description {
  const Attention* op = nullptr;
  Form q, k, v;
  int64_t past = 0;
  int64_t keys() const { return past + k.steps; }
};

Result<Description> describe(const Problem& problem) {
  Description d;
  d.op = problem.operation.as<Attention>();
  if (d.op == nullptr) return unsupported("not attention");
  if (d.op->weights_step > 0) return unsupported("weights that are rounded");
  if (!d.op->score_steps.empty() || !d.op->masked_steps.empty())
    return unsupported("functions of the scores");
  d.q = form_of(problem.input(0), d.op->q_heads, d.op->q_bsnh);
  d.k = form_of(problem.input(1), d.op->kv_heads, d.op->k_bsnh);
  d.v = form_of(problem.input(2), d.op->kv_heads, d.op->v_bsnh);
  if (problem.has_input(4)) d.past = problem.input(4).extents[2];
  if (problem.has_input(3) && problem.input(3).rank() > 4) return unsupported("the mask's axes");
  for (size_t i = 1; i < problem.outputs.size(); ++i)
    if (!is_plain(problem.outputs[i])) return unsupported("a result that is not dense");
  if (d.q.size * d.k.heads * d.keys() == 0) return unsupported("nothing to attend to");
  return d;
}

Result<KernelCode> begin(const Problem& problem) {
  KernelCode code;
  code.alias("Index", "u64");
  TENON_TRY(add_operands(code, problem));
  TENON_ASSIGN(const std::string places, device_source("generic/operands.cuh"));
  code.text(places);
  code.constant("kBlock", kBlock);
  return code;
}

/// The problem with keys (or values) as X1 and their past as X4, where present.cu looks for them.
Problem seen_from(const Problem& problem, int input, int past) {
  Problem view;
  view.operation = problem.operation;
  view.device = problem.device;
  view.outputs = {problem.outputs[0]};
  view.inputs.resize(5);
  view.inputs[1] = problem.input(input);
  if (problem.has_input(past)) view.inputs[4] = problem.input(past);
  return view;
}

Result<JitLaunch> present(const Problem& problem, const Description& d, const Form& form, int input,
                          int past, JitArgument to) {
  TENON_ASSIGN(KernelCode code, begin(seen_from(problem, input, past)));
  const int64_t count = form.batch * form.heads * d.keys() * form.size;
  code.constants("kCount kSize kTotal kHeads", count, form.size, d.keys(), form.heads);
  code.constant("kPast", d.past);
  code.text(fmt::format("#define PRESENT_FORM {}\n", form.kind));
  if (!problem.has_input(past)) code.text("#define X4 X1\n");
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"generic/present.cu"}, blocks_for(count, kBlock), kBlock));
  launch.add({to, JitArgument::input(input),
              problem.has_input(past) ? JitArgument::input(past) : JitArgument::null()});
  return launch;
}

/// `name(b, h, i, d)`: where an element of q or y lies.
std::string place_function(std::string_view name, std::string_view at, const Form& form) {
  const char* order[] = {"b, h, i, d", "b, i, h, d", "b, i, h * kHeadSize + d"};
  std::string place = order[form.kind];
  if (form.kind == 2) place = fmt::format("b, i, h * {}ll + d", form.size);
  return fmt::format(
      "__device__ inline i64 {}(i64 b, i64 h, i64 i, i64 d) {{ return place<{}>({}); }}\n", name,
      at, place);
}

void add_mask(Formula& f, const Problem& problem, const Description& d) {
  std::vector<int64_t> strides(4, 0);
  int64_t keys = d.keys();
  if (problem.has_input(3)) {
    const Operand& mask = problem.input(3);
    const std::vector<int64_t> own = strides_of(mask);
    const int shift = 4 - mask.rank();
    for (int i = 0; i < mask.rank(); ++i)
      strides[static_cast<size_t>(i + shift)] = mask.extents[i] == 1 ? 0 : own[i];
    if (mask.rank() > 0 && mask.extents.back() != 1) keys = mask.extents.back();
  }
  f.list("mask_stride", strides);
  f.number("kMaskKeys", keys);
  f.flag("kHasMask", problem.has_input(3));
  f.flag("kBooleanMask", problem.has_input(3) && problem.input(3).type == DataType::kBool);
}

/// Along one axis.
constexpr int64_t kMostBlocks = int64_t{1} << 30;

Result<JitLaunch> attend(const Problem& problem, const Description& d) {
  TENON_ASSIGN(KernelCode code, begin(problem));
  const Attention& op = *d.op;
  const int64_t rows = d.q.batch * d.q.heads * d.q.steps;
  Formula f;
  f.number("kRows", rows);
  f.number("kQueries", d.q.steps);
  f.number("kHeads", d.q.heads);
  f.number("kKvHeads", d.k.heads);
  f.number("kKeys", d.keys());
  f.number("kSize", d.q.size);
  f.number("kValueSize", d.v.size);
  f.real("kScale", op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(d.q.size)));
  f.real("kCap", op.softcap);
  f.flag("kCausal", op.causal != CausalMask::kNone);
  f.number("kOffset", op.causal == CausalMask::kUpperLeft ? d.past : d.keys() - d.q.steps);
  f.flag("kHasLengths", problem.has_input(6));
  f.flag("kHiddenRowsAreZero", op.masked_rows_zero);
  f.number("kShown", static_cast<int64_t>(op.scores));
  add_mask(f, problem, d);
  f.constants += fmt::format("typedef {} Sum_;\n", device_type(DataType::kFloat32));
  f.constants += place_function("q_place", "In0", d.q);
  Form result = d.q;
  if (result.kind != 2) result.kind = op.out_bsnh ? 1 : 0;
  result.size = d.v.size;
  f.constants += place_function("y_place", "YAt", result);
  code.text(f.constants);
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"generic/attend.cu"}, std::min(rows, kMostBlocks), kBlock));
  launch.grid[1] = blocks_for(rows, kMostBlocks);
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  const auto has_output = [&](size_t i) {
    return i < problem.outputs.size() && problem.outputs[i].present;
  };
  JitPlan plan;
  const auto room = [&](int64_t bytes) {
    const int64_t at = plan.workspace_bytes;
    plan.workspace_bytes += round_up(bytes, 256);
    return JitArgument::workspace(at);
  };
  const int64_t keys = d.k.batch * d.k.heads * d.keys();
  const JitArgument k = has_output(1) ? JitArgument::output(1)
                                      : room(keys * d.k.size * byte_size(problem.input(1).type));
  const JitArgument v = has_output(2) ? JitArgument::output(2)
                                      : room(keys * d.v.size * byte_size(problem.input(2).type));
  TENON_ASSIGN(JitLaunch k_launch, present(problem, d, d.k, 1, 4, k));
  TENON_ASSIGN(JitLaunch v_launch, present(problem, d, d.v, 2, 5, v));
  TENON_ASSIGN(JitLaunch rows, attend(problem, d));
  rows.arguments = {JitArgument::output(0), JitArgument::input(0), k, v};
  for (const int i : {3, 6})
    rows.add(problem.has_input(i) ? JitArgument::input(i) : JitArgument::null());
  rows.add(room(d.q.batch * d.q.heads * d.q.steps * d.keys() * 4));
  rows.add(has_output(3) ? JitArgument::output(3) : JitArgument::null());
  plan.launches = {std::move(k_launch), std::move(v_launch), std::move(rows)};
  return plan;
}

}  // namespace

}  // namespace cuda_attention_any

TENON_JIT_TACTIC(cuda_attention_any, single_config)

}  // namespace tenon::tactics
