// Recurrences with one launch a step: of scalar products, or of 16-bit floats on tensor cores.
#include <algorithm>
#include <functional>

#include "kernels/rnn/recurrence_cuda.h"

namespace tenon::tactics {

using namespace recurrence;

namespace {

/// Launches of a recurrence with one launch a step: the inputs' products, the states as floats at
/// `at`, and at `rounded`, unless that is 0, h as it is.
Result<JitPlan> begin_steps(const Problem& problem, const Description& d, int64_t at,
                            int64_t rounded) {
  constexpr int kBlock = 128;
  if (d.steps > 4096) return unsupported("more than 4096 steps");
  TENON_ASSIGN(JitPlan plan, begin_plan(problem, d));
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kBlock", kBlock);
  TENON_ASSIGN(JitLaunch begin,
               make_launch(code, {"rnn/cell.cuh", "rnn/begin.cu"},
                           blocks_for(d.directions * d.batch * d.hidden, kBlock), kBlock));
  begin.add({optional_input(problem, 5), optional_input(problem, 6), JitArgument::workspace(at),
             rounded > 0 ? JitArgument::workspace(rounded) : JitArgument::null()});
  plan.launches.push_back(std::move(begin));
  return plan;
}

/// One launch a step: `step` without its arguments, `states` those of the step's number.
void add_steps(JitPlan& plan, const Problem& problem, const Description& d, JitLaunch step,
               const std::function<std::vector<JitArgument>(int64_t)>& states) {
  for (int64_t t = 0; t < d.steps; ++t) {
    step.arguments = {JitArgument::workspace(0), JitArgument::input(2)};
    for (const int i : {3, 7, 4}) step.add(optional_input(problem, i));
    for (const JitArgument& argument : states(t)) step.add(argument);
    for (const size_t i : {0u, 1u, 2u}) step.add(optional_output(problem, i));
    step.add(JitArgument::number(t));
    plan.launches.push_back(step);
  }
}

}  // namespace

namespace cuda_rnn_steps {
namespace {

constexpr int kBlock = 128;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  const int64_t at = padded(d.products_bytes()),
                state_bytes = padded(2 * d.directions * d.batch * d.hidden * 4);
  const int64_t tile = std::min<int64_t>(d.batch, 4);
  TENON_ASSIGN(JitPlan plan, begin_steps(problem, d, at, 0));
  plan.workspace_bytes = at + 2 * state_bytes;
  KernelCode code;
  add_constants(code, problem, d);
  code.constants("kTile kBlock", tile, kBlock);
  const int64_t sums = d.directions * blocks_for(d.batch, tile) * d.hidden;
  TENON_ASSIGN(JitLaunch step,
               make_launch(code, {"rnn/cell.cuh", "rnn/stored_cell.cuh", "rnn/step.cu"},
                           blocks_for(sums, kBlock / 32), kBlock));
  add_steps(plan, problem, d, step, [&](int64_t t) {
    return std::vector{JitArgument::workspace(at + t % 2 * state_bytes),
                       JitArgument::workspace(at + (t + 1) % 2 * state_bytes)};
  });
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_steps

namespace cuda_rnn_tiles {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (byte_size(d.type) != 2) return unsupported("the type is not f16 or bf16");
  if (d.hidden % 8 != 0 || problem.input(2).alignment % 16 != 0)
    return unsupported("rows of weights that lie at odd places");
  const int64_t states = d.directions * d.batch * d.hidden, at = padded(d.products_bytes());
  const int64_t rounded = at + padded(2 * states * 4), rounded_bytes = padded(states * 2);
  TENON_ASSIGN(JitPlan plan, begin_steps(problem, d, at, rounded));
  plan.workspace_bytes = rounded + 2 * rounded_bytes;
  const int64_t units = blocks_for(d.hidden, 16) * d.directions;
  const bool many = units * blocks_for(d.batch, 64) >= multiprocessors(problem);
  const int64_t columns = many ? 64 : 32;
  KernelCode code;
  add_constants(code, problem, d);
  code.matrix_type(d.type);
  code.constant("kColumns", columns);
  JitLaunch step;
  TENON_TRY(set_source(step, code,
                       {"jit/matrix.cuh", "rnn/cell.cuh", "rnn/stored_cell.cuh", "rnn/tiles.cu"}));
  step.grid[0] = blocks_for(d.hidden, 16);
  step.grid[1] = blocks_for(d.batch, columns);
  step.grid[2] = d.directions;
  step.shared_bytes = static_cast<int>(3 * (64 + columns) * (64 + 8) * 2);
  add_steps(plan, problem, d, step, [&](int64_t t) {
    return std::vector{JitArgument::workspace(at),
                       JitArgument::workspace(rounded + t % 2 * rounded_bytes),
                       JitArgument::workspace(rounded + (t + 1) % 2 * rounded_bytes)};
  });
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_tiles

TENON_JIT_TACTIC(cuda_rnn_tiles, single_config)
TENON_JIT_TACTIC(cuda_rnn_steps, single_config)

}  // namespace tenon::tactics
