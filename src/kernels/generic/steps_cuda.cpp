// Operators that are no formula of one element: determinants, values put back by indices,
// quantization by the data.
#include "kernels/generic/formula.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "ops/math.h"
#include "ops/nn.h"
#include "ops/nn_window.h"

namespace tenon::tactics {
namespace {

constexpr int kBlock = 256;

/// Constants of a launch over the problem's operands, ready for more.
Result<KernelCode> operand_code(const Problem& problem) {
  KernelCode code = begin_code(problem);
  TENON_TRY(add_operands(code, problem));
  TENON_ASSIGN(const std::string places, device_source("generic/operands.cuh"));
  code.text(places);
  return code;
}

}  // namespace

namespace cuda_det {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  if (!problem.operation.is<Det>()) return unsupported("not a determinant");
  const Operand& x = problem.input(0);
  const int64_t size = x.extents.back(), count = problem.output().count();
  if (size > INT16_MAX) return unsupported("matrices of {} rows", size);
  TENON_ASSIGN(KernelCode code, operand_code(problem));
  code.constants("kBlock kMatrix", kBlock, size);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"generic/det.cu"}, count, kBlock));
  launch.add({JitArgument::output(), JitArgument::input(0), JitArgument::workspace(0)});
  const int64_t bytes = count * size * size * static_cast<int64_t>(sizeof(double));
  return JitPlan{{std::move(launch)}, bytes, {}, {}};
}

}  // namespace
}  // namespace cuda_det

namespace cuda_unpool {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  const auto* op = problem.operation.as<MaxUnpool>();
  if (op == nullptr) return unsupported("not the reverse of a pooling");
  const Operand &x = problem.input(0), &y = problem.output();
  if (!y.dense()) return unsupported("a result with gaps");
  if (x.count() >= UINT32_MAX) return unsupported("that many values");
  std::vector<int64_t> natural{x.extents[0], x.extents[1]};
  for (size_t i = 0; i + 2 < x.extents.size(); ++i)
    natural.push_back((x.extents[i + 2] - 1) * axis_or(op->strides, i, 1) + op->kernel[i] -
                      axis_or(op->pads_begin, i, 0) - axis_or(op->pads_end, i, 0));
  TENON_ASSIGN(KernelCode code, operand_code(problem));
  Formula constants;
  constants.list("natural", natural);
  code.text(constants.constants);
  code.constants("kBlock kCount", kBlock, x.count());
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"jit/last_update.cuh", "generic/unpool.cu"},
                                             blocks_for(x.count(), kBlock), kBlock));
  launch.add({JitArgument::output(), JitArgument::input(0), JitArgument::input(1),
              JitArgument::workspace(0)});
  JitPlan plan{
      {launch, launch, launch}, y.count() * static_cast<int64_t>(sizeof(uint32_t)), {}, {}};
  plan.launches[0].zeroed = JitArgument::output();
  plan.launches[0].zeroed_bytes = y.count() * byte_size(y.type);
  for (int64_t pass = 0; pass < 3; ++pass)  // As jit/last_update.cuh has them.
    plan.launches[static_cast<size_t>(pass)].add(JitArgument::number(pass));
  return plan;
}

}  // namespace
}  // namespace cuda_unpool

namespace cuda_dynamic_quantize {
namespace {

Result<JitLaunch> range_launch(const Problem& problem) {
  TENON_ASSIGN(KernelCode code, operand_code(problem));
  code.constants("kBlock kCount", 1024, problem.input(0).count());
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"generic/range.cu"}, 1, 1024));
  launch.add({JitArgument::input(0), JitArgument::output(1), JitArgument::output(2)});
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  if (!problem.operation.is<DynamicQuantize>()) return unsupported("not quantization by the data");
  TENON_ASSIGN(JitLaunch range, range_launch(problem));
  TENON_ASSIGN(KernelCode code, operand_code(problem));
  code.constants("kBlock kCount", kBlock, problem.input(0).count());
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"generic/quantize_range.cu"},
                                             blocks_for(problem.input(0).count(), kBlock), kBlock));
  launch.add({JitArgument::output(0), JitArgument::input(0), JitArgument::output(1),
              JitArgument::output(2)});
  return JitPlan{{std::move(range), std::move(launch)}, 0, {}, {}};
}

}  // namespace
}  // namespace cuda_dynamic_quantize

namespace cuda_bits {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  if (!problem.operation.is<BitCast>()) return unsupported("not the same bits");
  const int64_t count = problem.output().count();
  TENON_ASSIGN(KernelCode code, operand_code(problem));
  const char* words[] = {"u8", "u16", "u32", "u64"};
  int size = 0;
  while (1 << size < byte_size(problem.output().type)) ++size;
  if (size > 3) return unsupported("type {}; takes up to 8 bytes", name_of(problem.output().type));
  code.alias("Word", words[size]);
  code.constants("kBlock kCount", kBlock, count);
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"generic/bits.cu"}, blocks_for(count, kBlock), kBlock));
  launch.add({JitArgument::output(), JitArgument::input(0)});
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_bits

TENON_JIT_TACTIC(cuda_bits, single_config)
TENON_JIT_TACTIC(cuda_det, single_config)
TENON_JIT_TACTIC(cuda_unpool, single_config)
TENON_JIT_TACTIC(cuda_dynamic_quantize, single_config)

}  // namespace tenon::tactics
