// Matrix products by kernels of our own on NVIDIA GPUs: those with few rows, and any types and
// strides.
#include <algorithm>

#include "kernels/gemm/product_cuda.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics {
namespace {

bool is_float(DataType type) {
  return wide_type(type) != nullptr && wide_type(type) == std::string_view("f32");
}

/// Elements along axis k or n that can be loaded at once.
int operand_vector(const Operand& operand, int64_t extent, int64_t other_stride) {
  int vector = 16 / byte_size(operand.type);
  while (vector > 1 && (extent % vector != 0 || other_stride % vector != 0 ||
                        alignment_in_elements(operand) % vector != 0))
    vector /= 2;
  return vector;
}

Result<DeviceProduct> describe_skinny(const Problem& problem) {
  TENON_ASSIGN(DeviceProduct p, describe_product(problem));
  // With more, tensor cores win.
  if (p.m > 4) return unsupported("more than 4 rows");
  if (p.batches() != 1) return unsupported("a batch of products");
  if (!is_float(problem.input(p.a).type) || !is_float(problem.input(p.b).type))
    return unsupported("operands of {} and {}; takes f32, f16, bf16",
                       name_of(problem.input(p.a).type), name_of(problem.input(p.b).type));
  if (p.k > 1 << 24 || p.n > 1 << 24)
    return unsupported("k = {} and {} columns; takes 2^24 of each", p.k, p.n);
  return p;
}

}  // namespace

namespace cuda_gemm_tile {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const DeviceProduct p, describe_product(problem));
  KernelCode code = begin_code(problem);
  add_product(code, problem, p);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, p.region, p.loop));
  JitLaunch launch = launch_of_tiles(p, 64, 64, 256, operands);
  TENON_TRY(set_source(launch, code, {"gemm/tile.cu"}));
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_gemm_tile

namespace cuda_gemm_skinny_columns {
namespace {

constexpr int kBlock = 128;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const DeviceProduct p, describe_skinny(problem));
  if (p.b_row != 1 || p.a_column != 1) return unsupported("k is not contiguous in both operands");
  const int vector = std::min(operand_vector(problem.input(p.a), p.k, p.m > 1 ? p.a_row : 0),
                              operand_vector(problem.input(p.b), p.k, p.n > 1 ? p.b_column : 0));
  const int64_t each = p.m > 1 ? 4 : 1;
  KernelCode code = begin_code(problem);
  add_product(code, problem, p);
  code.constants("kBlock kVector kEach", kBlock, vector, each);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, p.region, p.loop));
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"gemm/skinny_columns.cu"},
                                             blocks_for(p.n, each * (kBlock / 32)), kBlock));
  launch.add({JitArgument::input(p.a), JitArgument::input(p.b), JitArgument::output()});
  launch.add_inputs(operands);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_gemm_skinny_columns

namespace cuda_gemm_skinny_rows {
namespace {

constexpr int kBlock = 256, kFinishBlock = 128;

Result<JitLaunch> launch_of(const Problem& problem, const DeviceProduct& p, int vector,
                            int64_t columns, int64_t splits, bool finish) {
  KernelCode code = begin_code(problem);
  add_product(code, problem, p);
  code.constants("kBlock kVector kColumns", finish ? kFinishBlock : kBlock, vector, columns);
  code.constant("kSplits", splits);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, p.region, p.loop));
  JitLaunch launch;
  if (finish) {
    TENON_TRY(set_source(launch, code, {"gemm/skinny_finish.cu"}));
    launch.grid[0] = blocks_for(p.m * p.n, kFinishBlock);
    launch.block[0] = kFinishBlock;
  } else {
    TENON_TRY(set_source(launch, code, {"gemm/skinny_rows.cu"}));
    launch.grid[0] = blocks_for(p.n, columns);
    launch.grid[1] = splits;
    launch.block[0] = kBlock;
    launch.add({JitArgument::input(p.a), JitArgument::input(p.b)});
  }
  launch.add({JitArgument::output(), splits > 1 ? JitArgument::workspace(0) : JitArgument::null()});
  launch.add_inputs(operands);
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const DeviceProduct p, describe_skinny(problem));
  if (p.b_column != 1) return unsupported("n is not contiguous in the right operand");
  const int vector = operand_vector(problem.input(p.b), p.n, p.k > 1 ? p.b_row : 0);
  const int64_t columns = std::min<int64_t>(32, power_above(blocks_for(p.n, vector))) * vector;
  const int64_t blocks = blocks_for(p.n, columns);
  const int64_t shares = kBlock / (columns / vector);
  const int64_t splits = std::clamp<int64_t>(int64_t{2} * multiprocessors(problem) / blocks, 1,
                                             std::max<int64_t>(1, p.k / (shares * 8)));
  JitPlan plan;
  if (splits > 1) plan.workspace_bytes = splits * p.m * p.n * 4;
  TENON_ASSIGN(JitLaunch main, launch_of(problem, p, vector, columns, splits, false));
  plan.launches.push_back(std::move(main));
  if (splits == 1) return plan;
  TENON_ASSIGN(JitLaunch finish, launch_of(problem, p, vector, columns, splits, true));
  plan.launches.push_back(std::move(finish));
  return plan;
}

}  // namespace
}  // namespace cuda_gemm_skinny_rows

TENON_JIT_TACTIC(cuda_gemm_skinny_columns, single_config)
TENON_JIT_TACTIC(cuda_gemm_skinny_rows, single_config)
TENON_JIT_TACTIC(cuda_gemm_tile, single_config)

}  // namespace tenon::tactics
