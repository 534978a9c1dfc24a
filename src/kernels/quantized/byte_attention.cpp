#include "kernels/quantized/byte_attention.h"

#include <algorithm>
#include <array>
#include <limits>

#include "device/cpu/worker_memory.h"
#include "kernels/attention/attention_task.h"
#include "kernels/quantized/byte_product.h"

namespace tenon::cpu {
namespace {

using attention_detail::AttentionTask;
using attention_detail::kKeyBlock;
using attention_detail::Round;
using attention_detail::rows_of_task;

/// Of no kernel are there more.
constexpr int kMostTileRows = 32;

const ByteAttentionFunctions& functions_for(Isa isa) {
  return TENON_BEST_OF_ISA(isa, kByteAttentionGeneric, kByteAttentionAvx2, kByteAttentionAvx512);
}

/// The left operand of a product is u8, the right one i8.
uint8_t flip_of_left(const ByteHeads& heads) {
  return heads.is_signed ? 0x80 : 0;
}
int32_t zero_of_left(const ByteHeads& heads) {
  return heads.zero + (heads.is_signed ? 128 : 0);
}
uint8_t flip_of_right(const ByteHeads& heads) {
  return heads.is_signed ? 0 : 0x80;
}
int32_t zero_of_right(const ByteHeads& heads) {
  return heads.zero - (heads.is_signed ? 0 : 128);
}

/// A thread's scratch, as offsets in bytes: packed keys and values of a block; for the rows of one
/// tile the queries, scores and weights; for all queries of a task the sums so far.
struct Layout {
  int64_t query_stride, score_stride, key_groups, value_panels, task_rows;
  size_t keys, key_start, values, queries, query_numbers, tile, scores, weights;
  size_t sums, weight_sums, most, total, bytes;

  Layout(const AttentionProblem& p, int64_t rows, int threads) {
    query_stride = round_up(p.size, 64);
    score_stride = kKeyBlock + attention_detail::kRowPadding;
    key_groups = ceil_div(p.size, kByteGroup);
    value_panels = ceil_div(p.value_size, kBytePanel);
    task_rows = rows;
    size_t at = 0;
    const auto take = [&at](int64_t size) {
      const size_t from = at;
      at = align_up(at + static_cast<size_t>(size));
      return from;
    };
    keys = take(kKeyBlock * key_groups * kByteGroup);
    key_start = take(kKeyBlock * 4);
    values = take(value_panels * kBytePanel * kKeyBlock);
    queries = take(kMostTileRows * query_stride);
    query_numbers = take(kMostTileRows * 4);
    tile = take(kMostTileRows * kBytePanel * 4);
    scores = take(kMostTileRows * score_stride * 4);
    weights = take(kMostTileRows * score_stride);
    sums = take(value_panels * kBytePanel * rows * 4);
    weight_sums = take(rows * 4);
    most = take(rows * 4);
    total = take(rows * 4);
    bytes = worker_stride(at, threads);
  }
};

struct Task : AttentionTask {
  const ByteAttentionProblem& b;
  const ByteKernel& kernel;
  const ByteAttentionFunctions& bytes;
  const Layout& layout;

  void run() const {
    start(layout);
    std::fill_n(at<int32_t>(layout.weight_sums), rows, 0);
    std::fill_n(at<int32_t>(layout.sums), layout.value_panels * kBytePanel * layout.task_rows, 0);
    pass_rounded(*this, kernel.max_rows);
    for (int64_t panel = 0; panel < layout.value_panels; ++panel) finish(panel);
  }

  static const uint8_t* head_at(const void* base, const HeadStrides& strides, int64_t batch,
                                int64_t head, int64_t position) {
    return static_cast<const uint8_t*>(base) + batch * strides.batch + head * strides.head +
           position * strides.position;
  }

  /// (q - a)(k - b) is q k - a k - b q + a b: the sums of keys come first, those of queries last.
  void pack(int64_t key, int64_t keys, Round round) const {
    const int64_t kv_head = head / (p.heads / p.kv_heads);
    auto* start = at<int32_t>(layout.key_start);
    bytes.pack_keys(head_at(arguments.k, p.k, batch, kv_head, key), p.k.position, keys, p.size,
                    flip_of_right(b.k), at<int8_t>(layout.keys), start);
    const int32_t zero = zero_of_left(b.q);
    const auto all = static_cast<int32_t>(p.size) * zero_of_right(b.k);
    for (int64_t i = 0; i < keys; ++i) start[i] = zero * (all - start[i]);
    if (round != Round::totals)
      bytes.pack_values(head_at(arguments.v, p.v, batch, kv_head, key), p.v.position, keys,
                        p.value_size, flip_of_right(b.v), at<int8_t>(layout.values));
  }

  void tile(int64_t begin, int64_t end, int64_t key, int64_t block, Round round) const {
    const int64_t keys = std::min(block, end_of(end) - key);
    if (keys <= 0) return;
    score(begin, end - begin, keys);
    ScoreRows scored = scores(layout, begin, end, key, keys, round);
    scored.multiples = at<uint8_t>(layout.weights);
    functions.softmax(scored);
    if (round != Round::totals) add_values(begin, end - begin, keys, block);
  }

  void score(int64_t begin, int64_t count, int64_t keys) const {
    const uint8_t* from = head_at(arguments.q, p.q, batch, head, first + begin);
    auto* queries = at<uint8_t>(layout.queries);
    auto* numbers = at<int32_t>(layout.query_numbers);
    const uint8_t flip = flip_of_left(b.q);
    for (int64_t r = 0; r < count; ++r) {
      uint8_t* to = queries + r * layout.query_stride;
      for (int64_t i = 0; i < p.size; ++i) to[i] = from[r * p.q.position + i] ^ flip;
      std::fill(to + p.size, to + layout.key_groups * kByteGroup, uint8_t{0});
      numbers[r] = -zero_of_right(b.k) * bytes.sum(to, p.size);
    }
    const int64_t depth = layout.key_groups;
    for (int64_t panel = 0; panel * kBytePanel < keys; ++panel) {
      multiply(queries, layout.query_stride, count, depth,
               at<int8_t>(layout.keys) + panel * depth * kBytePanel * kByteGroup,
               at<int32_t>(layout.key_start) + panel * kBytePanel);
      bytes.to_floats(at<int32_t>(layout.tile), numbers, count, b.score_scale,
                      at<float>(layout.scores) + panel * kBytePanel, layout.score_stride);
    }
  }

  /// Behind the last key weights are zero up to a whole group.
  void add_values(int64_t begin, int64_t count, int64_t keys, int64_t block) const {
    alignas(64) static constexpr int32_t kStart[kBytePanel] = {};
    auto* weights = at<uint8_t>(layout.weights);
    const int64_t groups = ceil_div(keys, kByteGroup);
    for (int64_t r = 0; r < count; ++r) {
      uint8_t* row = weights + r * layout.score_stride;
      std::fill(row + keys, row + groups * kByteGroup, uint8_t{0});
      at<int32_t>(layout.weight_sums)[begin + r] += bytes.sum(row, keys);
    }
    const int64_t panel_bytes = ceil_div(block, kByteGroup) * kBytePanel * kByteGroup;
    for (int64_t panel = 0; panel < layout.value_panels; ++panel) {
      multiply(weights, layout.score_stride, count, groups,
               at<int8_t>(layout.values) + panel * panel_bytes, kStart);
      bytes.add(at<int32_t>(layout.tile), count * kBytePanel, sums_of(panel, begin));
    }
  }

  int32_t* sums_of(int64_t panel, int64_t row) const {
    return at<int32_t>(layout.sums) + (panel * layout.task_rows + row) * kBytePanel;
  }

  void multiply(const uint8_t* left, int64_t stride, int64_t count, int64_t depth,
                const int8_t* right, const int32_t* start) const {
    std::array<const uint8_t*, kMostTileRows> addresses;
    for (int64_t r = 0; r < count; ++r) addresses[r] = left + r * stride;
    ByteTile t{.rows_of_taps = addresses.data(), .weights = right, .ahead = right, .start = start};
    t.taps = 1, t.groups = depth, t.rows = static_cast<int>(count);
    t.sums = at<int32_t>(layout.tile);
    kernel.run(t);
  }

  void finish(int64_t panel) const {
    static constexpr float kNoBias[kBytePanel] = {};
    float scales[kBytePanel];
    std::fill_n(scales, kBytePanel, b.scale);
    int32_t* sums = sums_of(panel, 0);
    std::array<int32_t, attention_detail::kMostRows> numbers;
    for (int64_t r = 0; r < rows; ++r)
      numbers[r] = -zero_of_right(b.v) * at<int32_t>(layout.weight_sums)[r];
    bytes.add_to_rows(numbers.data(), rows, sums);
    const int64_t column = panel * kBytePanel;
    const int64_t to = batch * p.out.batch + head * p.out.head + first * p.out.position + column;
    ByteFinish f{
        .sums = sums, .rows = rows, .columns = std::min(kBytePanel, p.value_size - column)};
    f.scales = scales, f.biases = kNoBias;
    f.output = static_cast<char*>(arguments.out) + to * byte_type_size(b.type);
    f.output_stride = p.out.position, f.type = b.type;
    f.inverse = b.inverse, f.low = b.low, f.high = b.high, f.zero = b.output_zero;
    byte_finish_function(capped_isa(p.isa))(f);
    if (!p.masked_rows_zero) undefine_hidden(f);
  }

  /// Rows that see no key are no number, the least byte where they are rounded.
  void undefine_hidden(const ByteFinish& f) const {
    for (int64_t r = 0; r < rows; ++r) {
      if (at<float>(layout.total)[r] != 0) continue;
      const int64_t at_row = r * f.output_stride;
      if (f.type == ByteType::f32)
        std::fill_n(static_cast<float*>(f.output) + at_row, f.columns,
                    std::numeric_limits<float>::quiet_NaN());
      else
        std::fill_n(static_cast<int8_t*>(f.output) + at_row, f.columns,
                    static_cast<int8_t>(f.low + f.zero));
    }
  }
};

}  // namespace

size_t byte_attention_scratch_bytes(const ByteAttentionProblem& problem, int threads) {
  return Layout(problem.attention, rows_of_task(problem.attention, threads), threads).bytes *
         threads;
}

void byte_attention(const ByteAttentionProblem& problem, const AttentionArguments& arguments,
                    ThreadPool& pool, void* scratch) {
  const AttentionProblem& p = problem.attention;
  const int64_t task_rows = rows_of_task(p, pool.threads());
  const int64_t groups = ceil_div(p.q_length, task_rows);
  const Isa isa = capped_isa(p.isa);
  const ByteKernel& kernel = byte_kernel(isa, std::min(task_rows, p.q_length));
  const Layout layout(p, task_rows, pool.threads());
  pool.parallel_for(p.batch * p.heads * groups, 1, [&](int64_t begin, int64_t end, int worker) {
    kernel.begin();
    for (int64_t task = begin; task < end; ++task)
      Task{AttentionTask::of(p, arguments, attention_functions(isa),
                             static_cast<char*>(scratch) + worker * layout.bytes, task, task_rows),
           problem, kernel, functions_for(isa), layout}
          .run();
    kernel.end();
  });
}

}  // namespace tenon::cpu
