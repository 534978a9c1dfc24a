// Attention on NVIDIA GPUs: any mask, numbers of heads and sizes; scores are never stored.
#include <algorithm>

#include "kernels/attention/problem_cuda.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics {
namespace {

using namespace attention;

JitPlan make_plan(const Problem& problem, const DeviceAttention& d, JitLaunch launch,
                  int64_t rows) {
  launch.grid[0] = blocks_for(d.q.length, rows);
  launch.grid[1] = d.q.heads;
  launch.grid[2] = d.q.batch;
  for (const int i : {kQ, kK, kV}) launch.add(JitArgument::input(i));
  launch.add({problem.has_input(kMask) ? JitArgument::input(kMask) : JitArgument::null(),
              JitArgument::output()});
  return plan_of(std::move(launch));
}

}  // namespace

namespace cuda_attention_flash {
namespace {

std::vector<std::string> warp_configs(const Problem& problem) {
  const auto d = describe(problem);
  if (d.ok() && d->q.length <= 16) return {"warps=1"};
  return {"warps=4", "warps=2", "warps=1", "warps=8"};
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceAttention d, describe(problem));
  TENON_TRY(check_limits(DeviceKernel::flash, problem, d));
  const DataType type = problem.output().type;
  const int64_t warps = config_number(config, "warps").value_or(d.q.length <= 16 ? 1 : 4);
  const int64_t keys = 64;
  KernelCode code = begin_attention(problem, d);
  add_addresses(code, d);
  code.matrix_type(type);
  code.constant("kWarps", warps);
  code.constant("kKeys", keys);
  code.flag("kVectorLoads",
            steps_divide(d.k, problem.input(kK), 8) && steps_divide(d.v, problem.input(kV), 8));
  code.flag("kPairStores", steps_divide(d.out, problem.output(), 2));
  JitLaunch launch;
  TENON_TRY(set_source(
      launch, code,
      {"jit/matrix.cuh", "attention/heads.cuh", "attention/scores.cuh", "attention/flash.cu"}));
  launch.block[0] = static_cast<int>(warps * 32);
  const int64_t padded = (d.q.size + 15) / 16 * 16 + (d.v.size + 15) / 16 * 16 + 16;
  launch.shared_bytes = static_cast<int>(keys * padded * 2);
  return make_plan(problem, d, std::move(launch), warps * 16);
}

}  // namespace
}  // namespace cuda_attention_flash

namespace cuda_attention_rows {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const DeviceAttention d, describe(problem));
  TENON_TRY(check_limits(DeviceKernel::rows, problem, d));
  constexpr int64_t kMostBytes = 64 * 1024;
  const int64_t warps = 8, keys = 32 * (d.q.size + 1) * 4, values = 32 * d.v.size * 4;
  const bool shares = keys + values + warps * d.q.size * 4 > kMostBytes;
  const int64_t bytes = (shares ? std::max(keys, values) : keys + values) + warps * d.q.size * 4;
  KernelCode code = begin_attention(problem, d);
  add_addresses(code, d);
  code.constant("kWarps", warps);
  code.flag("kShared", shares);
  JitLaunch launch;
  TENON_TRY(set_source(launch, code,
                       {"attention/heads.cuh", "attention/scores.cuh", "attention/rows.cu"}));
  launch.block[0] = static_cast<int>(warps * 32);
  launch.shared_bytes = static_cast<int>(bytes);
  return make_plan(problem, d, std::move(launch), warps);
}

}  // namespace
}  // namespace cuda_attention_rows

TENON_JIT_TACTIC(cuda_attention_flash, cuda_attention_flash::warp_configs)
TENON_JIT_TACTIC(cuda_attention_rows, single_config)

}  // namespace tenon::tactics
