// Fallback kernels of NVIDIA GPUs that compute: each element of the result by a thread of its
// own, and a few operators that need more than one launch.
#include "kernels/generic/formulas.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"

namespace tenon {

Result<Formula> formula_of(const Problem& problem) {
  const Operation& node = problem.operation;
  Formula formula;
#define TENON_FORMULA(Struct, space, source)           \
  if (const auto* op = node.as<Struct>()) {            \
    formula.file = source;                             \
    TENON_TRY(formulas::space(problem, *op, formula)); \
    return formula;                                    \
  }
#include "kernels/generic/formulas.def"
  return unsupported("not computed element by element");
}

namespace tactics {
namespace cuda_formula {
namespace {

constexpr int kBlock = 128;
constexpr int kOperands = 7;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Formula formula, formula_of(problem));
  if (problem.outputs.size() != 1) return unsupported("several results");
  const Operand& y = problem.output();
  KernelCode code = begin_code(problem);
  TENON_TRY(add_operands(code, problem, formula));
  code.constant("kBlock", kBlock);
  code.open("kCount", y.count());
  JitLaunch launch;
  launch.add(JitArgument::output());
  for (int i = 0; i < kOperands; ++i)
    launch.add(problem.has_input(i) ? JitArgument::input(i) : JitArgument::null());
  JitPlan plan;
  if (formula.table != nullptr) {
    launch.arguments.back() = JitArgument::constant(0);
    plan.constants.push_back(formula.table);
  }
  TENON_ASSIGN(const std::string places, device_source("generic/operands.cuh"));
  code.text(places + formula.constants);
  TENON_TRY(set_source(launch, code, {formula.file, "generic/each.cu"}));
  launch.name = formula.file;
  launch.grid[0] = blocks_for(y.count(), kBlock);
  launch.block[0] = kBlock;
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace cuda_formula

TENON_JIT_TACTIC(cuda_formula, single_config)

}  // namespace tactics
}  // namespace tenon
