#include "kernels/gemm/strassen.h"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

// With fewer rows, steps or columns the sums cost as much as the eighth product.
constexpr int64_t kLeastRows = 96, kLeastSteps = 384, kLeastColumns = 384;
// So many steps are one block, whose sums stay in registers; more are cut into blocks with which
// the seven operands of A stay in the second-level cache.
constexpr int64_t kWholeSteps = 384, kMostSteps = 128;
constexpr int64_t kMostRows = 64;
constexpr int64_t kLine = 64;
// Bytes prefetched in a step of k: the next panels' lines come evenly spread over a pair's work.
constexpr int64_t kFetchStep = 16;
constexpr int64_t kFinishRows = 8;

// A pool hands out this many chunks a thread: with as many tasks or fewer each is a chunk.
constexpr int64_t kMostTasks = 8;

/// Pairs of panels of one task, so that all threads get as much, in two pieces at least.
int64_t even_pairs(int64_t pairs, int64_t rows, int64_t threads) {
  for (const int64_t size : {4, 3, 6, 2, 5, 8, 1}) {
    const int64_t tasks = pairs / size * rows;
    if (pairs % size == 0 && tasks % threads == 0 && tasks >= 2 * threads &&
        tasks <= kMostTasks * threads)
      return size;
  }
  return std::min<int64_t>(pairs, 4);
}

/// Tiles that fetch one quarter of the next pair of panels.
int64_t fetchers_of_quarter(const Microkernels& kernels) {
  return ceil_div(kernels.panel * int64_t{sizeof(float)}, kFetchStep);
}

/// The operands of A in the order of the products, and of the copied ones.
enum Operand { kA11, kA12, kS4, kA22, kS1, kS2, kS3 };

}  // namespace

StrassenProduct StrassenProduct::plan(const Microkernels& kernels, int64_t m, int64_t n, int64_t k,
                                      const std::vector<EpilogueStep>& steps, int threads) {
  if (kernels.strassen == nullptr || m < kLeastRows || n < kLeastColumns || k < kLeastSteps)
    return {};
  if (n % (2 * kernels.panel) != 0 || k % 2 != 0) return {};
  StrassenProduct p;
  p.kernels_ = &kernels;
  p.finish_ = finish_function(kernels.isa);
  p.steps_ = steps;
  p.has_bias_ = register_epilogue(steps, ElementType::f32).bias == 0;
  p.finish_in_place_ = std::none_of(steps.begin(), steps.end(), [](const EpilogueStep& s) {
    return s.operand == OperandKind::full || s.gates;
  });
  p.threads_ = threads;
  p.m_ = m, p.n_ = n, p.k_ = k;
  p.half_m_ = ceil_div(m, 2), p.half_k_ = k / 2;
  p.pairs_ = n / (2 * kernels.panel);
  const int64_t most = p.half_k_ <= kWholeSteps ? kWholeSteps : kMostSteps;
  p.k_block_ = ceil_div(p.half_k_, ceil_div(p.half_k_, most));
  p.row_block_ = ceil_div(p.half_m_, ceil_div(p.half_m_, kMostRows));
  p.pairs_of_task_ = even_pairs(p.pairs_, p.row_tasks(), threads);
  return p;
}

int64_t StrassenProduct::row_tasks() const {
  return ceil_div(half_m_, row_block_);
}
int64_t StrassenProduct::column_tasks() const {
  return ceil_div(pairs_, pairs_of_task_);
}
int64_t StrassenProduct::staged_stride() const {
  return static_cast<int64_t>(align_up(half_k_ * sizeof(float)) + kLine) / sizeof(float);
}
size_t StrassenProduct::staged_bytes() const {
  return worker_stride(kProducts * row_block_ * staged_stride() * sizeof(float), threads_);
}

/// One worker's memory: sums of the seven products, two differences of panels, tiles to finish.
struct StrassenScratch {
  int64_t* staged_block;  ///< The block of rows whose operands the worker has staged, or -1.
  float *sums, *differences[2], *tiles;

  StrassenScratch(void* memory, const StrassenProduct& p) {
    staged_block = static_cast<int64_t*>(memory);
    sums = static_cast<float*>(memory) + kLine / sizeof(float);
    differences[0] = sums + sum_floats(p);
    differences[1] = differences[0] + difference_floats(p);
    tiles = differences[1] + difference_floats(p);
  }

  static int64_t sum_floats(const StrassenProduct& p) {
    return StrassenProduct::kProducts * p.row_block_ * p.pairs_of_task_ * p.kernels_->panel;
  }
  static int64_t difference_floats(const StrassenProduct& p) {
    return p.k_block_ * p.kernels_->panel;
  }
  static size_t bytes(const StrassenProduct& p) {
    const int64_t tiles = 4 * kFinishRows * p.kernels_->panel;
    return align_up(kLine + (sum_floats(p) + 2 * difference_floats(p) + tiles) * sizeof(float));
  }
};

size_t StrassenProduct::worker_bytes() const {
  return worker_stride(StrassenScratch::bytes(*this), threads_);
}

int64_t StrassenProduct::staged_blocks() const {
  return stages_alone() ? threads_ : row_tasks();
}

size_t StrassenProduct::scratch_bytes() const {
  return staged_blocks() * staged_bytes() + threads_ * worker_bytes();
}

size_t StrassenProduct::fetch_capacity() const {
  const int64_t tiles = kProducts * ceil_div(row_block_, kernels_->max_rows);
  const int64_t free = std::max<int64_t>(0, tiles - 4 * fetchers_of_quarter(*kernels_));
  return row_tasks() * pairs_ * free * half_k_ * kFetchStep;
}

/// One task: all products of some rows and some pairs of panels.
struct StrassenTask {
  const StrassenProduct& p;
  const ProductOperands& operands;
  const StrassenProduct::Rows (&a)[StrassenProduct::kProducts];
  StrassenScratch scratch;
  int64_t row, rows, first_pair, last_pair;
  std::span<const std::byte> ahead;
  const char* next[4] = {};  // the quarters of the next pair of panels
  int64_t tiles = ceil_div(rows, p.kernels_->max_rows);
  int64_t panel = p.kernels_->panel;
  int64_t sum_stride = p.pairs_of_task_ * panel;
  int64_t fetchers = fetchers_of_quarter(*p.kernels_);
  int64_t slot = 0;  // tiles of this pair so far
  int short_rows = static_cast<int>(rows / tiles);
  int64_t tall_tiles = rows % tiles;

  void all() {
    for (int64_t k = 0; k < p.half_k_; k += p.k_block_)
      for (int64_t pair = first_pair; pair < last_pair; ++pair) {
        point_ahead(k, pair);
        products(k, std::min(p.k_block_, p.half_k_ - k), pair);
        if (k + p.k_block_ >= p.half_k_) combine(pair);
      }
  }

  const float* quarter(int64_t lower, int64_t right, int64_t k, int64_t pair) const {
    return static_cast<const float*>(operands.b) + (pair + right * p.pairs_) * panel * p.k_ +
           (lower * p.half_k_ + k) * panel;
  }

  void point_ahead(int64_t k, int64_t pair) {
    if (++pair == last_pair) {
      k += p.k_block_;
      if (k < p.half_k_)
        pair = first_pair;
      else
        k = 0, pair = last_pair % p.pairs_;
    }
    for (int i = 0; i < 4; ++i)
      next[i] = reinterpret_cast<const char*>(quarter(i / 2, i % 2, k, pair));
    slot = 0;
  }

  void products(int64_t k, int64_t count, int64_t pair) {
    const float *b11 = quarter(0, 0, k, pair), *b12 = quarter(0, 1, k, pair),
                *b21 = quarter(1, 0, k, pair), *b22 = quarter(1, 1, k, pair);
    float *x = scratch.differences[0], *y = scratch.differences[1];
    Tile tile;
    tile.k = count;
    tile.columns = static_cast<int>(panel);
    const int64_t c = (pair - first_pair) * panel;
    multiply(tile, kA11, k, c, b11);
    multiply(tile, kS1, k, c, b12, b11, x);
    multiply(tile, kS2, k, c, b22, x, y);
    multiply(tile, kS4, k, c, b22);
    multiply(tile, kS3, k, c, b22, b12);
    multiply(tile, kA22, k, c, y, b21);
    multiply(tile, kA12, k, c, b21);
  }

  void multiply(Tile tile, Operand operand, int64_t k, int64_t c, const float* b,
                const float* minus = nullptr, float* difference = nullptr) {
    tile.a_stride = a[operand].stride;
    const float* from = a[operand].data + k;
    tile.b = b;
    tile.b_minus = minus;
    tile.b_difference = difference;
    float* sums = sums_of(operand, 0, c);
    tile.output_stride = tile.initial_stride = sum_stride;
    for (int64_t i = 0; i < tiles; ++i) {
      tile.rows = short_rows + (i < tall_tiles);
      tile.a = from;
      tile.output = sums;
      tile.initial = k == 0 ? nullptr : sums;
      choose_fetch(tile);
      p.kernels_->run(tile);
      if (difference != nullptr) tile.b = difference, tile.b_minus = nullptr;
      from += tile.rows * tile.a_stride;
      sums += tile.rows * sum_stride;
    }
  }

  float* sums_of(int operand, int64_t r, int64_t c) const {
    return scratch.sums + (operand * p.row_block_ + r) * sum_stride + c;
  }

  /// Most tiles fetch the next panels, the last ones the prefetched data.
  void choose_fetch(Tile& tile) {
    tile.prefetch_step = kFetchStep;
    if (slot < 4 * fetchers) {
      tile.prefetch = next[slot / fetchers] + slot % fetchers * tile.k * kFetchStep;
      ++slot;
      return;
    }
    const size_t bytes = std::min<size_t>(ahead.size(), tile.k * kFetchStep);
    if (bytes < static_cast<size_t>(tile.k * kFetchStep)) tile.prefetch_step = 0;
    tile.prefetch = ahead.empty() ? next[0] : reinterpret_cast<const char*>(ahead.data());
    ahead = ahead.subspan(bytes);
  }

  void combine(int64_t pair) const {
    const int64_t whole = std::min(rows, p.bottom_rows() - row);
    for (int64_t r = 0; r < whole; r += kFinishRows)
      combine_rows(pair, r, std::min(kFinishRows, whole - r), false);
    if (whole < rows) combine_rows(pair, whole, 1, true);
  }

  bool in_place() const { return p.finish_in_place_; }

  float* output_at(int quarter, int64_t pair, int64_t r) const {
    const int64_t at = row + r + quarter / 2 * p.half_m_;
    return static_cast<float*>(operands.output) + at * operands.output_stride +
           (pair + quarter % 2 * p.pairs_) * panel / columns_of_result(p.steps_);
  }

  /// Combines rows that exist in the lower quarters too, or, with `scrap`, one that does not.
  void combine_rows(int64_t pair, int64_t r, int64_t count, bool scrap) const {
    const float* bias[2] = {};
    float* to[4];
    int64_t strides[4];
    for (int i = 0; i < 2 && p.has_bias_; ++i)
      bias[i] =
          static_cast<const float*>(operands.operands[0].data) + (pair + i * p.pairs_) * panel;
    for (int i = 0; i < 4; ++i) {
      const bool direct = in_place() && !(scrap && i >= 2);
      to[i] = direct ? output_at(i, pair, r) : scratch.tiles + i * kFinishRows * panel;
      strides[i] = direct ? operands.output_stride : panel;
    }
    p.kernels_->strassen->combine_c(sums_of(0, r, (pair - first_pair) * panel),
                                    p.row_block_ * sum_stride, sum_stride, count, panel, bias, to,
                                    strides);
    for (int i = 0; i < (scrap ? 2 : 4); ++i) finish(i, pair, r, count, to[i], strides[i]);
  }

  void finish(int i, int64_t pair, int64_t r, int64_t count, float* tile, int64_t stride) const {
    const std::span<const EpilogueStep> steps =
        std::span<const EpilogueStep>(p.steps_).subspan(p.has_bias_);
    if (steps.empty() && in_place()) return;
    const FinishTile finish{.tile = tile,
                            .tile_stride = stride,
                            .rows = count,
                            .columns = panel,
                            .row = row + r + i / 2 * p.half_m_,
                            .column = (pair + i % 2 * p.pairs_) * panel,
                            .output = output_at(i, pair, r),
                            .output_stride = operands.output_stride};
    p.finish_(finish, steps, operands.operands + p.has_bias_);
  }
};

/// Sums are always copies; quarters of A only where the microkernel cannot read them in place.
bool StrassenProduct::copies(int operand, const ProductOperands& operands) const {
  if (operand >= kS1 || operand == kS4) return true;
  if (operand == kA22 && m_ % 2 != 0) return true;
  return !can_read_directly(*kernels_, k_, operands.a_stride);
}

/// Two threads combine all the rows that they read themselves: lines that another core has written
/// cost more than the sums.
bool StrassenProduct::stages_alone() const {
  return threads_ <= std::max<int64_t>(2, row_tasks());
}

/// Rows [row, row + rows) into a block that begins with row `first`.
void StrassenProduct::stage(const ProductOperands& operands, int64_t row, int64_t rows,
                            int64_t first, float* to) const {
  const bool quarters = copies(kA11, operands), last = copies(kA22, operands);
  for (int64_t r = row; r < row + rows; ++r) {
    const float* upper = static_cast<const float*>(operands.a) + r * operands.a_stride;
    // A last row without a partner stands in for it: its result is not used.
    const float* lower = r < bottom_rows() ? upper + half_m_ * operands.a_stride : upper;
    const auto row_of = [&](int operand) {
      return to + (operand * row_block_ + r - first) * staged_stride();
    };
    float* sums[4] = {row_of(kS1), row_of(kS2), row_of(kS3), row_of(kS4)};
    kernels_->strassen->combine_a(upper, upper + half_k_, lower, lower + half_k_, half_k_, sums);
    if (last) std::memcpy(row_of(kA22), lower + half_k_, half_k_ * sizeof(float));
    if (!quarters) continue;
    std::memcpy(row_of(kA11), upper, half_k_ * sizeof(float));
    std::memcpy(row_of(kA12), upper + half_k_, half_k_ * sizeof(float));
  }
}

/// Where the left operands of a block have their first row.
void StrassenProduct::find_rows(const ProductOperands& operands, int64_t first, const float* staged,
                                Rows* rows) const {
  const float* a = static_cast<const float*>(operands.a) + first * operands.a_stride;
  const float* const quarters[] = {a, a + half_k_, nullptr,
                                   a + half_m_ * operands.a_stride + half_k_};
  for (int i = 0; i < kProducts; ++i) {
    if (copies(i, operands))
      rows[i] = {staged + i * row_block_ * staged_stride(), staged_stride()};
    else
      rows[i] = {quarters[i], operands.a_stride};
  }
}

void StrassenProduct::run(const ProductOperands& operands, ThreadPool& pool, void* scratch) const {
  const bool alone = stages_alone();
  char* staged = static_cast<char*>(scratch);
  char* workers = staged + staged_blocks() * staged_bytes();
  const auto block_at = [&](int64_t i) {
    return reinterpret_cast<float*>(staged + i * staged_bytes());
  };
  if (!alone)
    pool.for_each(half_m_, 1, [&](int64_t r) {
      stage(operands, r, 1, r / row_block_ * row_block_, block_at(r / row_block_));
    });
  for (int i = 0; i < threads_; ++i)
    *StrassenScratch(workers + i * worker_bytes(), *this).staged_block = -1;
  const int64_t tasks = row_tasks() * column_tasks();
  pool.for_each(tasks, 1, [&](int64_t task, int worker) {
    const StrassenScratch own(workers + worker * worker_bytes(), *this);
    // Tasks run over columns fastest: threads begin with their own part of them, and with two
    // blocks of rows each keeps to its own one.
    const int64_t block = task / column_tasks(), row = block * row_block_;
    const int64_t rows = std::min(row_block_, half_m_ - row);
    const int64_t pair = task % column_tasks() * pairs_of_task_;
    float* at = block_at(alone ? worker : block);
    if (alone && *own.staged_block != block)
      stage(operands, row, rows, row, at), *own.staged_block = block;
    Rows a[kProducts];
    find_rows(operands, row, at, a);
    StrassenTask{.p = *this,
                 .operands = operands,
                 .a = a,
                 .scratch = own,
                 .row = row,
                 .rows = rows,
                 .first_pair = pair,
                 .last_pair = std::min(pair + pairs_of_task_, pairs_),
                 .ahead = part_of(operands.ahead, task, tasks)}
        .all();
  });
}

}  // namespace tenon::cpu
