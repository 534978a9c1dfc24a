#include "kernels/attention/attention.h"

#include "kernels/attention/attention_layout.h"

namespace tenon::cpu {
namespace {

AttentionBlock block_for(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return attention_block_avx512();
  if (isa >= Isa::avx2) return attention_block_avx2();
#endif
  (void)isa;
  return attention_block_generic();
}

}  // namespace

int64_t choose_query_block(const AttentionProblem& problem, int threads) {
  int64_t block = kMaxQueryBlock;
  const auto tasks = [&] {
    return problem.batch * problem.heads * ((problem.q_length + block - 1) / block);
  };
  while (block > 32 && (block / 2 >= problem.q_length || tasks() < 4 * threads)) block /= 2;
  return block;
}

size_t attention_scratch_bytes(const AttentionProblem& problem) {
  return static_cast<size_t>(attention_detail::Layout(problem).total) * sizeof(float);
}

void attention(const AttentionProblem& problem, const AttentionArguments& arguments,
               ThreadPool& pool, void* scratch) {
  const AttentionBlock block = block_for(problem.isa);
  const int64_t blocks = (problem.q_length + problem.query_block - 1) / problem.query_block;
  const int64_t floats = attention_detail::Layout(problem).total;
  pool.parallel_for(
      problem.batch * problem.heads * blocks, 1, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t head = task / blocks % problem.heads, batch = task / blocks / problem.heads;
          block(problem, arguments, batch, head, task % blocks * problem.query_block,
                static_cast<float*>(scratch) + worker * floats);
        }
      });
}

}  // namespace tenon::cpu
