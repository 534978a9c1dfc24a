#include "kernels/attention/columns.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

int64_t mask_bytes(MaskKind kind) {
  return kind == MaskKind::f32 ? 4 : kind == MaskKind::bf16 ? 2 : 1;
}

}  // namespace

int64_t attention_columns_floats(const AttentionProblem& problem) {
  constexpr int64_t kWidest = 16;
  return (round_up(problem.size, kWidest) + round_up(problem.value_size, kWidest) + kColumnKeys +
          2) *
         kColumnQueries;
}

size_t attention_columns_scratch_bytes(const AttentionProblem& problem, int threads) {
  return worker_stride(attention_columns_floats(problem) * sizeof(float), threads) * threads;
}

void attention_columns(const AttentionProblem& p, const AttentionArguments& arguments,
                       ThreadPool& pool, void* scratch) {
  const ColumnFunction function = column_function(p.isa);
  const int64_t blocks = ceil_div(p.q_length, kColumnQueries);
  const size_t own = worker_stride(attention_columns_floats(p) * sizeof(float), pool.threads());
  const auto* q = static_cast<const float*>(arguments.q);
  const auto* k = static_cast<const float*>(arguments.k);
  const auto* v = static_cast<const float*>(arguments.v);
  pool.for_each(p.batch * p.heads * blocks, 1, [&](int64_t task, int worker) {
    // Later blocks of queries first: with a causal mask they are the long ones.
    const int64_t block = blocks - 1 - task % blocks, head = task / blocks % p.heads,
                  batch = task / blocks / p.heads, kv_head = head / (p.heads / p.kv_heads),
                  first = block * kColumnQueries;
    const int64_t mask_at = batch * p.mask_strides[0] + head * p.mask_strides[1];
    function({p, q + batch * p.q.batch + head * p.q.head + first * p.q.position,
              k + batch * p.k.batch + kv_head * p.k.head,
              v + batch * p.v.batch + kv_head * p.v.head,
              static_cast<const char*>(arguments.mask) + mask_at * mask_bytes(p.mask), first,
              std::min(kColumnQueries, p.q_length - first),
              static_cast<float*>(arguments.out) + batch * p.out.batch + head * p.out.head +
                  first * p.out.position,
              reinterpret_cast<float*>(static_cast<char*>(scratch) + worker * own)});
  });
}

}  // namespace tenon::cpu
