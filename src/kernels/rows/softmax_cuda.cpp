// Softmax on NVIDIA GPUs, over any axes.
#include <algorithm>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/rows/group_cuda.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace {

struct SoftmaxProblem {
  AnchoredRegion region;
  bool log = false;
  std::vector<bool> reduced;  ///< Axes.
};

Result<SoftmaxProblem> describe_softmax(const Problem& problem) {
  SoftmaxProblem p;
  TENON_ASSIGN(p.region, anchored_region(problem, {.branches = true}));
  const auto* op = p.region.anchor.as<Softmax>();
  if (op == nullptr) return unsupported("not a softmax");
  const Operand &x = problem.input(p.region.anchor_inputs[0]), &y = problem.output();
  if (device_type(x.type) == nullptr || !is_real(y.type))
    return unsupported("{} to {}; takes real types", name_of(x.type), name_of(y.type));
  if (x.extents != y.extents) return unsupported("the epilogue broadcasts");
  p.log = op->log;
  p.reduced.assign(static_cast<size_t>(x.rank()), false);
  for (const int64_t axis : op->axes.empty() ? std::vector<int64_t>{-1} : op->axes)
    if (x.rank() > 0) p.reduced[axis < 0 ? axis + x.rank() : axis] = true;
  return p;
}

KernelCode begin_softmax(const Problem& problem, const SoftmaxProblem& p, const IndexLoop& loop) {
  const Operand &x = problem.input(p.region.anchor_inputs[0]), &y = problem.output();
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, y.type);
  code.round_to(y.type);
  code.flag("kLog", p.log);
  code.located("XAt", loop, x);
  code.located("YAt", loop, y);
  return code;
}

void add_arguments(JitLaunch& launch, const SoftmaxProblem& p, const std::vector<int>& operands) {
  launch.add({JitArgument::input(p.region.anchor_inputs[0]), JitArgument::output()});
  launch.add_inputs(operands);
}

}  // namespace

namespace cuda_softmax {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const SoftmaxProblem p, describe_softmax(problem));
  const Operand &x = problem.input(p.region.anchor_inputs[0]), &y = problem.output();
  const SplitLoop split = split_loop(y, p.reduced);
  const IndexLoop loop = joined(split.kept, split.reduced);
  KernelCode code = begin_softmax(problem, p, loop);
  const int vector = std::min({pack_width(split.reduced, x), pack_width(split.reduced, y), 8,
                               pack_width(loop, x), pack_width(loop, y)});
  const RowGroups groups =
      choose_groups(problem, loop_count(split.kept), loop_count(split.reduced), vector);
  add_groups(code, groups);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, p.region, loop));
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"rows/group.cuh", "rows/softmax.cu"},
                                             groups.blocks(), groups.block));
  add_arguments(launch, p, operands);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_softmax

namespace cuda_softmax_columns {
namespace {

constexpr int64_t kKept = 64;  ///< Elements that a thread keeps in registers.
constexpr int64_t kThreads = 128;

struct Shape {
  int64_t vector = 1, shares = 1;
  int64_t lanes() const { return kThreads / shares; }
};

/// The widest columns, and the fewest threads for each, that leave no multiprocessor idle.
Shape choose_shape(const Problem& problem, const ColumnLoop& c, const Operand& x,
                   const Operand& y) {
  Shape shape;
  shape.vector = std::min({pack_width(c.inner, x), pack_width(c.inner, y), pack_width(c.all(), x),
                           pack_width(c.all(), y)});
  const int64_t wanted = multiprocessors(problem) * kThreads;
  const int64_t count = loop_count(c.kept()), length = loop_count(c.reduced);
  const auto threads = [&] { return count / shape.vector * shape.shares; };
  while (shape.vector > 1 && threads() < wanted) shape.vector /= 2;
  while (shape.vector > 1 && length * shape.vector > kKept) shape.vector /= 2;
  const auto steps = [&] { return blocks_for(length, shape.shares); };
  while (shape.shares < 16 &&
         (steps() * shape.vector > kKept || (threads() < wanted && steps() > 8)))
    shape.shares *= 2;
  return shape;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const SoftmaxProblem p, describe_softmax(problem));
  const Operand &x = problem.input(p.region.anchor_inputs[0]), &y = problem.output();
  const ColumnLoop c = column_loop(y, p.reduced);
  if (c.reduced.empty() || loop_count(c.inner) < 8)
    return unsupported("columns are not side by side");
  if (loop_count(c.inner) > INT32_MAX)
    return unsupported("{} columns; takes 2^31", loop_count(c.inner));
  const Shape shape = choose_shape(problem, c, x, y);
  const int64_t length = loop_count(c.reduced);
  if (blocks_for(length, shape.shares) * shape.vector > kKept) return unsupported("a long axis");
  KernelCode code = begin_softmax(problem, p, c.all());
  code.open("kOuter", loop_count(c.outer));
  code.constants("kLength kInner kVector", length, loop_count(c.inner), shape.vector);
  code.constants("kShares kLanes", shape.shares, shape.lanes());
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, p.region, c.all()));
  const int64_t packs = loop_count(c.kept()) / shape.vector;
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"rows/softmax_columns.cu"},
                                             blocks_for(packs, shape.lanes()), kThreads));
  add_arguments(launch, p, operands);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_softmax_columns

TENON_JIT_TACTIC(cuda_softmax_columns, single_config)
TENON_JIT_TACTIC(cuda_softmax, single_config)

}  // namespace tenon::tactics
