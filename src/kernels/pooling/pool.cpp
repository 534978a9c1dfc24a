#include "kernels/pooling/pool.h"

namespace tenon::cpu {
namespace {

int64_t size_of(PoolType type) {
  return type == PoolType::f32 ? 4 : type == PoolType::bf16 ? 2 : 1;
}

}  // namespace

void pool(const PoolProblem& problem, const void* input, void* output, ThreadPool& threads) {
  const PoolLine line = pool_line(problem.isa);
  const int64_t bytes = size_of(problem.type);
  const int64_t image_bytes =
      problem.in_depth * problem.in_height * problem.in_width * problem.in_pixel * bytes;
  threads.for_each(problem.batch * problem.out_depth * problem.out_height, 1, [&](int64_t row) {
    const int64_t y = row % problem.out_height, z = row / problem.out_height % problem.out_depth,
                  n = row / problem.out_height / problem.out_depth;
    const auto* image = static_cast<const char*>(input) + n * image_bytes;
    auto* out = static_cast<char*>(output) + row * problem.out_width * problem.out_pixel * bytes;
    line(problem, image, out, z, y);
  });
}

}  // namespace tenon::cpu
