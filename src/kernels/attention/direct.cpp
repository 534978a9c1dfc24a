#include "kernels/attention/direct.h"

#include "kernels/attention/attention_task.h"

namespace tenon::cpu {
namespace {

using namespace attention_detail;

/// More than the floats of a vector of any instruction set.
constexpr int64_t kPadded = 16;

/// A thread's scratch, as offsets in bytes: one query in floats, its scores with one block of keys,
/// and the sums of one head so far.
struct DirectLayout {
  int64_t score_stride, value_stride;  ///< In elements.
  size_t query, scores, sums, most, total, bytes;

  DirectLayout(const AttentionProblem& p, int threads)
      : score_stride(kKeyBlock + kPadded), value_stride(round_up(p.value_size, kPadded)) {
    size_t at = 0;
    const auto take = [&at](int64_t floats) {
      const size_t from = at;
      at = align_up(at + static_cast<size_t>(floats) * sizeof(float));
      return from;
    };
    query = take(round_up(p.size, kPadded));
    scores = take(p.q_length * score_stride);
    sums = take(p.q_length * value_stride);
    most = take(p.q_length);
    total = take(p.q_length);
    bytes = worker_stride(at, threads);
  }
};

/// All queries of one head.
struct DirectTask : AttentionTask {
  const DirectFunctions& direct;
  const DirectLayout& layout;

  DirectRows rows_of(const void* base, const HeadStrides& strides, int64_t of_head, int64_t from,
                     int64_t count, int64_t elements) const {
    const int64_t at = batch * strides.batch + of_head * strides.head + from * strides.position;
    return {static_cast<const char*>(base) + at * (p.bf16 ? 2 : 4), p.bf16, strides.position, count,
            elements};
  }

  void run() const {
    start(layout);
    std::fill_n(at<float>(layout.sums), rows * layout.value_stride, 0.0f);
    pass_over_keys(*this, static_cast<int>(rows), Round::running);
    const int64_t to = batch * p.out.batch + head * p.out.head + first * p.out.position;
    functions.store(p, at<float>(layout.sums), layout.value_stride, at<float>(layout.total), rows,
                    arguments.out, to);
  }

  void pack(int64_t, int64_t, Round) const {}

  void tile(int64_t begin, int64_t end, int64_t key, int64_t block, Round round) const {
    const int64_t keys = std::min(block, end_of(end) - key);
    if (keys <= 0) return;
    const int64_t kv_head = head / (p.heads / p.kv_heads);
    const DirectRows k = rows_of(arguments.k, p.k, kv_head, key, keys, p.size);
    auto* query = at<float>(layout.query);
    auto* scored = at<float>(layout.scores);
    for (int64_t r = begin; r < end; ++r) {
      direct.widen(rows_of(arguments.q, p.q, head, first + r, 1, p.size), query);
      direct.score(query, k, scored + (r - begin) * layout.score_stride);
    }
    ScoreRows all = scores(layout, begin, end, key, keys, round);
    auto* sums = at<float>(layout.sums) + begin * layout.value_stride;
    all.sums = sums, all.sums_stride = layout.value_stride;
    functions.softmax(all);
    const DirectRows v = rows_of(arguments.v, p.v, kv_head, key, keys, p.value_size);
    for (int64_t r = 0; r < end - begin; ++r)
      direct.add(scored + r * layout.score_stride, v, sums + r * layout.value_stride);
  }
};

}  // namespace

size_t attention_direct_scratch_bytes(const AttentionProblem& problem, int threads) {
  return DirectLayout(problem, threads).bytes * static_cast<size_t>(threads);
}

void attention_direct(const AttentionProblem& problem, const AttentionArguments& arguments,
                      ThreadPool& pool, void* scratch) {
  const DirectLayout layout(problem, pool.threads());
  pool.for_each(problem.batch * problem.heads, 1, [&](int64_t task, int worker) {
    DirectTask{AttentionTask::of(problem, arguments, attention_functions(problem.isa),
                                 static_cast<char*>(scratch) + worker * layout.bytes, task,
                                 problem.q_length),
               direct_functions(problem.isa), layout}
        .run();
  });
}

}  // namespace tenon::cpu
