// Softmax on NVIDIA GPUs, over any axes.
#include <algorithm>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/rows/group_cuda.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace cuda_softmax {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const AnchoredRegion region, anchored_region(problem));
  const auto* op = region.anchor->as<Softmax>();
  if (op == nullptr) return unsupported("not a softmax");
  const Operand& x = problem.input(region.anchor_inputs[0]);
  const Operand& y = problem.output();
  if (device_type(x.type) == nullptr || !is_real(y.type)) return unsupported("the type");
  if (x.extents != y.extents) return unsupported("the epilogue broadcasts");
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), false);
  for (const int64_t axis : op->axes.empty() ? std::vector<int64_t>{-1} : op->axes)
    if (x.rank() > 0) reduced[axis < 0 ? axis + x.rank() : axis] = true;
  const SplitLoop split = split_loop(y, reduced);
  const IndexLoop loop = joined(split.kept, split.reduced);

  KernelCode code;
  begin_code(code, problem);
  code.type("X", x.type);
  code.type("Y", y.type);
  code.round_to(y.type);
  code.flag("kLog", op->log);
  code.located("XAt", loop, x);
  code.located("YAt", loop, y);
  const int vector = std::min({pack_width(split.reduced, x), pack_width(split.reduced, y), 8,
                               pack_width(loop, x), pack_width(loop, y)});
  const RowGroups groups =
      choose_groups(problem, loop_count(split.kept), loop_count(split.reduced), vector);
  add_groups(code, groups);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, region, loop));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"rows/group.cuh", "rows/softmax.cu"}));
  launch.grid[0] = groups.blocks();
  launch.block[0] = groups.block;
  launch.add(JitArgument::input(region.anchor_inputs[0]));
  launch.add(JitArgument::output());
  launch.add_inputs(operands);
  return JitPlan{{std::move(launch)}, 0, {}, {}};
}

}  // namespace
}  // namespace cuda_softmax

TENON_JIT_TACTIC(cuda_softmax, single_config)

}  // namespace tenon::tactics
