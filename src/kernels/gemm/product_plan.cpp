#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/caches.h"
#include "kernels/gemm/product.h"

namespace tenon::cpu {
namespace {

// One panel of this many steps stays in the first-level cache beside the rows of A that it meets.
constexpr int64_t kBlockK = 256;
constexpr int64_t kRowBlock = 56;
// Products of no more rows are not cut by rows: each would read all of B again.
constexpr int64_t kWholeRows = 128;
constexpr int64_t kColumnBlock = 512;
// Threads that share rows fetch most of A from each other, threads that share columns all of B,
// ahead of time: a row of A, whose lines are waited for, takes as long as so many columns of B.
constexpr int64_t kColumnsARow = kTransfersAtOnce;
constexpr int64_t kMostColumnParts = 64;
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kGatherTasksPerThread = 2;
// Gathered rows of all tasks together stay in the caches until the last one.
constexpr int64_t kMostStaged = int64_t{4} << 20;
// Bytes from one line to the next of the same set of a first-level cache. Rows half as far apart
// share two sets, whose ways are enough for those of a tile.
constexpr int64_t kSetPeriod = 4096;

bool has_full_operand(const std::vector<EpilogueStep>& steps) {
  return std::any_of(steps.begin(), steps.end(),
                     [](const EpilogueStep& s) { return s.operand == OperandKind::full; });
}

/// Panels of the thread with the most of them, where every thread begins with as many tasks: of
/// `others` rows of tasks, each cut into blocks of so many panels.
int64_t longest_share(int64_t panels, int64_t block, int64_t others, int64_t threads) {
  const int64_t tasks = ceil_div(panels, block) * others;
  const auto before = [&](int64_t task) {
    return std::min(task / others * block, panels) * others +
           std::min(block, panels - std::min(task / others * block, panels)) * (task % others);
  };
  int64_t longest = 0;
  for (int64_t i = 0; i < threads; ++i)
    longest = std::max(longest, before(tasks * (i + 1) / threads) - before(tasks * i / threads));
  return longest;
}

/// The block nearest to `block` panels, at least half and at most twice as many, with which tasks
/// share out best: nine equal ones keep one of two threads waiting for a tenth of the time.
int64_t even_block(int64_t panels, int64_t block, int64_t others, int64_t threads) {
  const int64_t tasks = ceil_div(panels, block) * others;
  if (threads == 1 || tasks >= threads * 4 * kTasksPerThread) return block;
  int64_t best = block, least = longest_share(panels, block, others, threads);
  for (int64_t size = 2 * block; 2 * size >= block && size > 0; --size) {
    const int64_t share = longest_share(panels, size, others, threads);
    if (share > least || (share == least && std::abs(size - block) >= std::abs(best - block)))
      continue;
    least = share, best = size;
  }
  return best;
}

/// Cuts m x n into enough tasks for the threads, first by rows; a gathered block of A is worth many
/// columns.
void choose_blocks(ProductPlan& plan, int64_t batch, int threads, bool gathered) {
  const int64_t panel = plan.kernels->panel, rows = plan.kernels->max_rows;
  const int64_t wanted = threads > 1 ? threads * kTasksPerThread : 1;
  const bool prepares = plan.kernels->row_unit > 1 || plan.makes_panels;
  const int64_t most = prepares ? kWholeRows : kRowBlock;
  const bool whole = plan.m <= kWholeRows && batch * ceil_div(plan.n, 2 * panel) >= wanted;
  plan.row_block = std::min(plan.m, whole ? kWholeRows : std::max(rows, most / rows * rows));
  if (batch * plan.row_tasks() < threads && plan.m >= threads * rows &&
      plan.n < kColumnsARow * plan.m)
    plan.row_block = ceil_div(plan.m, int64_t{threads});
  // Equal blocks, whole tiles where possible.
  plan.row_block = ceil_div(plan.m, ceil_div(plan.m, plan.row_block));
  // Whole lines: blocks that end within one would have short tiles.
  if (plan.lines.rows > 0 && plan.row_block > plan.lines.rows)
    plan.row_block = plan.row_block / plan.lines.rows * plan.lines.rows;
  plan.column_block = std::min(round_up(plan.n, panel), round_up(kColumnBlock, panel));
  const int64_t smallest = gathered ? 4 * panel : 2 * panel;
  // Rows that are gathered are better gathered by one task each than for all before.
  const int64_t least = gathered && !whole ? threads * kGatherTasksPerThread : wanted;
  while (batch * plan.row_tasks() * plan.column_tasks() < least &&
         plan.column_block >= 2 * smallest)
    plan.column_block = round_up(plan.column_block / 2, panel);
  // No thread is left without a task: rows that are gathered are not gathered twice.
  while (batch * plan.row_tasks() * plan.column_tasks() < threads && plan.row_block >= 2 * rows)
    plan.row_block = ceil_div(plan.row_block, int64_t{2});
  // Equal column blocks in whole panels.
  const int64_t panels = ceil_div(plan.n, panel);
  const int64_t block = ceil_div(panels, ceil_div(plan.n, plan.column_block));
  plan.column_block = even_block(panels, block, batch * plan.row_tasks(), threads) * panel;
  if (batch == 1 && plan.row_tasks() % threads == 0) plan.row_groups = threads;
}

/// Where each task prepares its operands: the cut whose tasks are done first.
void choose_prepared_blocks(ProductPlan& plan, int64_t batch, int threads) {
  const Preparation& preparation = *plan.kernels->preparation;
  const int64_t unit = plan.kernels->row_unit, panel = plan.kernels->panel;
  const int64_t rows = ceil_div(plan.m, unit), panels = ceil_div(plan.n, panel);
  // Sums over parts of k stay in the second-level cache.
  const int64_t fewest = ceil_div(plan.n, kColumnBlock);
  double least = std::numeric_limits<double>::infinity();
  for (int64_t r = 1; r <= std::min(rows, preparation.row_block / unit); ++r)
    for (int64_t parts = fewest; parts <= std::min(panels, fewest + kMostColumnParts); ++parts) {
      const int64_t c = ceil_div(panels, parts);
      const int64_t tasks = batch * ceil_div(rows, r) * ceil_div(panels, c);
      const double time =
          static_cast<double>(ceil_div(tasks, int64_t{threads})) *
          preparation.work(static_cast<double>(r * unit), static_cast<double>(c * panel));
      if (time >= least) continue;
      least = time;
      plan.row_block = r * unit, plan.column_block = c * panel;
    }
  if (batch == 1 && plan.row_tasks() % threads == 0) plan.row_groups = threads;
}

/// Equal parts of each range, none longer than a panel in the first-level cache. An empty k has one
/// too: its products are zeros.
void cut_depth(ProductPlan& plan, std::vector<DepthRange> ranges) {
  const Preparation* preparation = plan.kernels->preparation;
  const int64_t most = preparation != nullptr ? preparation->k_block
                                              : kBlockK * 4 / element_size(plan.kernels->type);
  if (ranges.empty()) ranges.push_back({0, plan.k});
  for (const auto& [first, count] : ranges) {
    const int64_t parts = std::max<int64_t>(1, ceil_div(count, most));
    const int64_t step = round_up(ceil_div(count, parts), plan.kernels->depth) +
                         (count == 0 ? plan.kernels->depth : 0);
    plan.k_block = std::max(plan.k_block, step);
    for (int64_t at = 0; at == 0 || at < count; at += step)
      plan.depths.push_back({first + at, std::min(step, count - at)});
  }
}

}  // namespace

ProductPlan::Place ProductPlan::place_of(int64_t task, int64_t copies) const {
  const int64_t rows = row_tasks() * copies / row_groups, group = task / (rows * column_tasks());
  return {group * rows + task % rows, task / rows % column_tasks() * column_block};
}

int64_t ProductPlan::tile_height() const {
  if (lines.rows == 0) return kernels->max_rows;
  return ceil_div(lines.rows, ceil_div(lines.rows, kernels->max_rows));
}

int64_t ProductPlan::rows_of_tiles(int64_t rows) const {
  const int64_t unit = kernels->row_unit;
  return round_up(rows, unit) + (lines.rows > 0 && unit > 1 ? kernels->max_rows : 0);
}

int64_t ProductPlan::staged_stride() const {
  if (kernels->preparation != nullptr) return kernels->preparation->row_stride(k) + kRowPadding / 4;
  const int64_t size = element_size(kernels->type);
  return static_cast<int64_t>(align_up((k + kernels->k_unit) * size) + kRowPadding) / size;
}

size_t ProductPlan::staged_bytes() const {
  if (!staged) return 0;
  return align_up(rows_of_tiles(m) * staged_stride() * element_size(kernels->type));
}

ProductPlan plan_product(const Microkernels& kernels, int64_t m, int64_t n, int64_t k,
                         ElementType output_type, std::vector<EpilogueStep> steps, int64_t batch,
                         int threads, bool gathered, const PartialProduct& part,
                         bool makes_panels) {
  ProductPlan plan{.kernels = &kernels,
                   .finish = finish_function(kernels.isa),
                   .m = m,
                   .n = n,
                   .k = k,
                   .output_type = output_type,
                   .steps = std::move(steps),
                   .lines = part.lines,
                   .makes_panels = makes_panels};
  plan.registers = register_epilogue(plan.steps, output_type);
  plan.finish_in_place = output_type == ElementType::f32 && columns_of_result(plan.steps) == 1 &&
                         !has_full_operand(plan.steps);
  cut_depth(plan, part.depths);
  if (kernels.preparation != nullptr && part.lines.rows == 0 && m > 0 && n > 0)
    choose_prepared_blocks(plan, batch, threads);
  else
    choose_blocks(plan, batch, threads, gathered);
  plan.staged = gathered && part.depths.empty() && batch == 1 && plan.column_tasks() > 1 &&
                m * plan.staged_stride() * element_size(kernels.type) <= kMostStaged;
  return plan;
}

bool can_read_directly(const Microkernels& kernels, int64_t k, int64_t a_stride) {
  if (kernels.preparation != nullptr) return true;
  return k % kernels.k_unit == 0 && a_stride * element_size(kernels.type) % kSetPeriod != 0;
}

}  // namespace tenon::cpu
