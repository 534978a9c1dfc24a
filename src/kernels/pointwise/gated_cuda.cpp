// Gates of rows that lie dense, as a product leaves them.
#include <numeric>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics {
namespace cuda_gated_unit {
namespace {

constexpr int kBlock = 256;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  const auto* op = problem.operation.as<GatedUnit>();
  if (op == nullptr) return unsupported("no gate");
  const Operand &x = problem.input(0), &y = problem.output();
  if (!x.dense() || x.layout != Layout::kRowMajor) return unsupported("rows that lie apart");
  if (!is_real(x.type) || device_type(x.type) == nullptr)
    return unsupported("the type {}", name_of(x.type));
  const int64_t wide = 16 / byte_size(x.type);
  const bool whole = y.extents.back() % wide == 0 && alignment_in_elements(x) % wide == 0;
  const int64_t each = whole ? wide : 1;
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, y.type);
  code.round_to(y.type);
  code.alias("Real", wide_type(y.type));
  const bool rough = byte_size(y.type) == 2;
  TENON_TRY(add_step_function(code, 0, {op->function, op->alpha, op->beta}, rough));
  code.text("#define GATE(x) epilogue_step0(x, Real(0))\n");
  code.constants("kBlock kEach", kBlock, each);
  code.open("kCount", y.count());
  std::vector<int> axes(y.extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  code.located("YAt", loop_over(y.extents, axes), y);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"pointwise/gated.cu"},
                                             blocks_for(y.count(), kBlock * each), kBlock));
  launch.add({JitArgument::input(0), JitArgument::output()});
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_gated_unit

TENON_JIT_TACTIC(cuda_gated_unit, single_config)

}  // namespace tenon::tactics
