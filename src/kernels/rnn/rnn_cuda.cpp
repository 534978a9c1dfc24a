// Recurrences in FP32 by one kernel of clusters (sm_90), and those of GRUs whose reset acts before
// the product.
#include <algorithm>

#include "kernels/rnn/recurrence_cuda.h"

namespace tenon::tactics {

using namespace recurrence;

namespace cuda_rnn_cluster {
namespace {

constexpr int64_t kCluster = 8;
constexpr int64_t kVector = 4;  ///< Floats that are loaded together.

/// Threads for each row of the recurrent weights that a block keeps.
Result<int64_t> choose_lanes(const Description& d) {
  if (d.hidden % kCluster != 0)
    return unsupported("the units do not divide among {} blocks", kCluster);
  const int64_t rows = d.gates * d.hidden / kCluster;
  int64_t lanes = 32;
  while (lanes > 1 && (rows * lanes > 512 || d.hidden % (lanes * kVector) != 0)) lanes /= 2;
  if (rows * lanes > 512 || d.hidden % (lanes * kVector) != 0 || rows * lanes % 32 != 0)
    return unsupported("{} hidden units", d.hidden);
  if (d.hidden / lanes > 80) return unsupported("the recurrent weights do not fit registers");
  return lanes;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (d.type != DataType::kFloat32) return unsupported("16-bit floats are for cuda.rnn.matrix");
  if (problem.input(2).alignment % 16 != 0) return unsupported("weights that lie at odd places");
  TENON_ASSIGN(const int64_t lanes, choose_lanes(d));
  const int64_t block = d.gates * d.hidden / kCluster * lanes;
  // As many elements of the batch a cluster as keep every cluster on the device at once.
  const int64_t clusters = std::max<int64_t>(1, multiprocessors(problem) / kCluster / d.directions);
  const int64_t tile = std::clamp<int64_t>(blocks_for(d.batch, clusters), 1, 8);
  if (tile * d.hidden * 8 > 40000) return unsupported("{} hidden units", d.hidden);
  KernelCode code;
  add_constants(code, problem, d);
  code.constants("kCluster kLanes kBlock kTile", kCluster, lanes, block, tile);
  code.constant("kCellRounds", blocks_for(tile * d.hidden / kCluster, block));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"rnn/cell.cuh", "rnn/cluster.cu"},
                           kCluster * d.directions * blocks_for(d.batch, tile), block));
  launch.cluster = kCluster;
  launch.add({JitArgument::workspace(0), JitArgument::input(2)});
  for (const int i : {3, 5, 6, 7, 4}) launch.add(optional_input(problem, i));
  for (const size_t i : {0u, 1u, 2u}) launch.add(optional_output(problem, i));
  TENON_ASSIGN(JitPlan plan, begin_plan(problem, d));
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_cluster

namespace cuda_rnn_reset {
namespace {

constexpr int kBlock = 512;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem, Reset::kBefore));
  if (d.hidden > 4000) return unsupported("more than 4000 hidden units");
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kBlock", kBlock);
  TENON_ASSIGN(JitPlan plan, begin_plan(problem, d));
  TENON_ASSIGN(JitLaunch steps,
               make_launch(code, {"rnn/cell.cuh", "rnn/reset.cu"}, d.directions * d.batch, kBlock));
  steps.add({JitArgument::workspace(0), JitArgument::input(2)});
  for (const int i : {3, 4, 5}) steps.add(optional_input(problem, i));
  for (const size_t i : {0u, 1u}) steps.add(optional_output(problem, i));
  plan.launches.push_back(std::move(steps));
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_reset

TENON_JIT_TACTIC(cuda_rnn_cluster, single_config)
TENON_JIT_TACTIC(cuda_rnn_reset, single_config)

}  // namespace tenon::tactics
