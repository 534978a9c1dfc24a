#include "kernels/attention/attention.h"

#include <algorithm>

#include "kernels/attention/attention_task.h"
#include "kernels/gemm/product.h"

namespace tenon::cpu {
namespace {

using namespace attention_detail;

const Microkernels& kernels_for(const AttentionProblem& p) {
  return microkernels(p.bf16 ? ElementType::bf16 : ElementType::f32, capped_isa(p.isa));
}

const char* element_at(const AttentionProblem& p, const void* base, int64_t index) {
  return static_cast<const char*>(base) + index * (p.bf16 ? 2 : 4);
}

struct Task : AttentionTask {
  const Microkernels& kernels;
  const Layout& layout;

  MatrixView view(const void* base, int64_t index, int64_t row_stride,
                  int64_t column_stride) const {
    return {element_at(p, base, index), p.bf16 ? ElementType::bf16 : ElementType::f32, row_stride,
            column_stride};
  }

  void run() const {
    start(layout);
    if (p.weights_step > 0) {
      std::fill_n(at<float>(layout.sums), rows * layout.value_stride, 0.0f);
      pass_rounded(*this, kernels.max_rows);
      float* total = at<float>(layout.total);
      for (int64_t r = 0; r < rows; ++r) total[r] = total[r] == 0 ? 0.0f : 1.0f;
    } else {
      pass_over_keys(*this, kernels.max_rows, Round::running);
    }
    const int64_t to = batch * p.out.batch + head * p.out.head + first * p.out.position;
    if (end_of(rows) == 0) std::fill_n(at<float>(layout.sums), rows * layout.value_stride, 0.0f);
    functions.store(p, at<float>(layout.sums), layout.value_stride, at<float>(layout.total), rows,
                    arguments.out, to);
  }

  void pack(int64_t key, int64_t keys, Round) const {
    const int64_t kv_head = head / (p.heads / p.kv_heads);
    const int64_t k_at = batch * p.k.batch + kv_head * p.k.head + key * p.k.position;
    const int64_t v_at = batch * p.v.batch + kv_head * p.v.head + key * p.v.position;
    pack_panels(kernels, view(arguments.k, k_at, 1, p.k.position), p.size, keys, 0,
                ceil_div(keys, kernels.panel), at<void>(layout.keys));
    pack_panels(kernels, view(arguments.v, v_at, p.v.position, 1), keys, p.value_size, 0,
                ceil_div(p.value_size, kernels.panel), at<void>(layout.values));
  }

  void tile(int64_t begin, int64_t end, int64_t key, int64_t block, Round round) const {
    const int64_t keys = std::min(block, end_of(end) - key);
    float* sums = at<float>(layout.sums) + begin * layout.value_stride;
    if (keys <= 0) {
      if (key == 0) std::fill_n(sums, (end - begin) * layout.value_stride, 0.0f);
      return;
    }
    Tile t;
    t.rows = static_cast<int>(end - begin);
    score(t, begin, keys);
    const bool started = key > 0;
    const bool own = kernels.type == ElementType::bf16;
    void* probabilities = own ? at<void>(layout.probabilities) : nullptr;
    ScoreRows scored = scores(layout, begin, end, key, keys, round);
    scored.probabilities = probabilities;
    scored.sums = sums, scored.sums_stride = layout.value_stride;
    functions.softmax(scored);
    if (round == Round::totals) return;
    t.a = own ? probabilities : at<void>(layout.scores);
    t.a_stride = layout.score_stride;
    t.k = ceil_div(keys, kernels.k_unit);
    t.b_panel_stride = panel_stride(kernels, block);
    multiply(t, layout.values, p.value_size, sums, layout.value_stride, started);
  }

  void score(Tile t, int64_t begin, int64_t keys) const {
    const int64_t q_at = batch * p.q.batch + head * p.q.head + (first + begin) * p.q.position;
    const bool direct = kernels.type == (p.bf16 ? ElementType::bf16 : ElementType::f32) &&
                        can_read_directly(kernels, p.size, p.q.position);
    if (direct) {
      t.a = element_at(p, arguments.q, q_at);
      t.a_stride = p.q.position;
    } else {
      pack_rows(kernels, view(arguments.q, q_at, p.q.position, 1), t.rows, p.size,
                at<void>(layout.queries), layout.query_stride);
      t.a = at<void>(layout.queries);
      t.a_stride = layout.query_stride;
    }
    t.k = ceil_div(p.size, kernels.k_unit);
    t.b_panel_stride = panel_stride(kernels, p.size);
    multiply(t, layout.keys, keys, at<float>(layout.scores), layout.score_stride, false);
  }

  void multiply(Tile t, size_t packed, int64_t columns, float* to, int64_t stride, bool add) const {
    const int step = kernels.columns_for(t.rows);
    for (int64_t c = 0; c < columns; c += step) {
      t.b = at<char>(packed) + c / kernels.panel * t.b_panel_stride * element_size(kernels.type);
      t.prefetch = t.b;
      t.columns = static_cast<int>(std::min<int64_t>(step, columns - c));
      t.output = to + c;
      t.output_stride = stride;
      t.initial = add ? to + c : nullptr;
      t.initial_stride = add ? stride : 0;
      kernels.run(t);
    }
  }
};

}  // namespace

const AttentionFunctions& attention_functions(Isa isa) {
  return TENON_BEST_OF_ISA(isa, kAttentionGeneric, kAttentionAvx2, kAttentionAvx512);
}

size_t attention_scratch_bytes(const AttentionProblem& problem, int threads) {
  return Layout(problem, kernels_for(problem), rows_of_task(problem, threads), threads).bytes *
         threads;
}

void attention(const AttentionProblem& problem, const AttentionArguments& arguments,
               ThreadPool& pool, void* scratch) {
  const int64_t task_rows = rows_of_task(problem, pool.threads());
  const int64_t groups = ceil_div(problem.q_length, task_rows);
  const Microkernels& kernels = kernels_for(problem);
  const Layout layout(problem, kernels, task_rows, pool.threads());
  pool.for_each(problem.batch * problem.heads * groups, 1, [&](int64_t task, int worker) {
    Task{AttentionTask::of(problem, arguments, attention_functions(problem.isa),
                           static_cast<char*>(scratch) + worker * layout.bytes, task, task_rows),
         kernels, layout}
        .run();
  });
}

}  // namespace tenon::cpu
