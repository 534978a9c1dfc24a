#include "kernels/pooling/planes.h"

namespace tenon::cpu {

void pool_planes(const PoolProblem& problem, const void* input, void* output, ThreadPool& threads) {
  const PoolRows rows = pool_plane_rows(problem.isa);
  threads.parallel_for(
      problem.batch * problem.channels * problem.out_depth * problem.out_height, 8,
      [&](int64_t begin, int64_t end, int) { rows(problem, input, output, begin, end); });
}

}  // namespace tenon::cpu
