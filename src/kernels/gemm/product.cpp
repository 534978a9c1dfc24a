#include "kernels/gemm/product.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/prefetch.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

/// The scratch of one worker: gathered rows of A, sums over parts of k, one tile, prepared
/// operands.
struct Scratch {
  char* rows;
  int64_t row_stride;  // elements
  float* sums;
  float* tile;
  float* prepared_rows;
  char* prepared_panel;

  Scratch(const ProductPlan& plan, void* memory)
      : rows(static_cast<char*>(memory)),
        row_stride(stride(plan)),
        sums(reinterpret_cast<float*>(rows + row_bytes(plan))),
        tile(sums + sum_bytes(plan) / sizeof(float)),
        prepared_rows(tile + tile_bytes(plan) / sizeof(float)),
        prepared_panel(reinterpret_cast<char*>(prepared_rows) + prepared_row_bytes(plan)) {}

  static int64_t stride(const ProductPlan& plan) {
    const int64_t size = element_size(plan.kernels->type);
    return (align_up(std::min(plan.k_block, plan.k + 1) * size) + kRowPadding) / size;
  }
  static size_t row_bytes(const ProductPlan& plan) {
    return align_up(stride(plan) * plan.row_block * element_size(plan.kernels->type));
  }
  static size_t sum_bytes(const ProductPlan& plan) {
    if (plan.depths.size() <= 1) return 0;
    return align_up(tile_rows(plan) * plan.column_block * sizeof(float));
  }
  static size_t tile_bytes(const ProductPlan& plan) {
    return align_up(plan.kernels->max_rows * 2 * plan.kernels->panel * sizeof(float));
  }
  static int64_t tile_rows(const ProductPlan& plan) { return plan.rows_of_tiles(plan.row_block); }
  static size_t prepared_row_bytes(const ProductPlan& plan) {
    const Preparation* preparation = plan.kernels->preparation;
    if (preparation == nullptr || plan.staged) return 0;
    return align_up(tile_rows(plan) * preparation->row_stride(plan.k_block) * sizeof(float));
  }
  static size_t prepared_panel_bytes(const ProductPlan& plan) {
    const Preparation* preparation = plan.kernels->preparation;
    if (plan.makes_panels)
      return align_up(2 * panel_stride(*plan.kernels, plan.k_block) *
                      element_size(plan.kernels->type));
    if (preparation == nullptr) return 0;
    return align_up(preparation->row_stride(plan.k_block) * plan.kernels->panel * sizeof(float));
  }
};

constexpr int64_t kLine = 64;
// Bytes prefetched in a step of k: less than a line, so that memory keeps up.
constexpr int64_t kFetchStep = 16;

/// Cache lines of packed B that one tile reads in a step of k.
int64_t lines_a_step(const Microkernels& kernels, int64_t columns) {
  return ceil_div(columns * kernels.k_unit * element_size(kernels.type), kLine);
}

/// One run_product: shared by its loops.
struct Run {
  const ProductPlan& plan;
  const ProductOperands& operands;
  Scratch scratch;
  int64_t row, rows, column, columns;
  std::span<const std::byte> ahead = operands.ahead;

  void all() {
    for (size_t i = 0; i < plan.depths.size(); ++i) part(i);
  }

  int64_t panel_elements() const {
    return panel_stride(*plan.kernels, plan.makes_panels ? plan.k_block : plan.k);
  }
  /// The packed panel that begins with this column, from step k on.
  const char* panel_at(int64_t first, int64_t k) const {
    const int64_t panel = plan.kernels->panel;
    return static_cast<const char*>(operands.b) +
           (first / panel * panel_elements() + k * panel) * element_size(plan.kernels->type);
  }

  /// The panel that comes behind that of column c: then the next part of k, then the next columns.
  /// Behind the last one lies other memory, which other threads may write.
  const char* panel_behind(size_t index, int64_t c, int64_t next) const {
    if (plan.makes_panels) return scratch.prepared_panel;
    if (next < columns) return panel_at(column + next, plan.depths[index].first);
    if (index + 1 < plan.depths.size()) return panel_at(column, plan.depths[index + 1].first);
    if (column + next < plan.n) return panel_at(column + next, plan.depths[0].first);
    return panel_at(column + c, plan.depths[index].first);
  }

  void part(size_t index) {
    const auto [k, count] = plan.depths[index];
    const bool first = index == 0, last = index + 1 == plan.depths.size();
    Tile tile;
    place_a(k, count, tile);
    tile.k = ceil_div(count, plan.kernels->k_unit);
    tile.b_panel_stride = panel_elements();
    const int64_t tiles = ceil_div(rows, plan.kernels->max_rows);
    const int64_t height = std::min(ceil_div(rows, tiles), plan.tile_height());
    const int step = plan.kernels->columns_for(static_cast<int>(height));
    for (int64_t c = 0; c < columns; c += step) {
      tile.b = plan.makes_panels ? nullptr : panel_at(column + c, k);
      tile.columns = static_cast<int>(std::min<int64_t>(step, columns - c));
      const char* next = panel_behind(index, c, c + step);
      prepare_panel(c, k, count, tile);
      if (!last) fetch_rows(plan.depths[index + 1], c, c + step);
      int64_t lines = lines_a_step(*plan.kernels, step);
      if (c + step >= columns) next_rows(k, tile.k, next, lines);
      panel_of_tiles(tile, tiles, c, first, last, next, lines);
    }
  }

  /// Behind the last panel the next task's rows of A come, of which each part of k fetches a share.
  /// With one block of rows a thread, the next task has other columns.
  void next_rows(int64_t k, int64_t steps, const char*& next, int64_t& lines) const {
    const int64_t left = std::min(rows, plan.m - row - rows);
    if (operands.source != nullptr || left <= 0 || plan.k == 0 || steps == 0) return;
    if (plan.row_tasks() == plan.row_groups) return;
    const int64_t row_bytes = operands.a_stride * element_size(plan.kernels->type);
    const int64_t bytes = left * row_bytes;
    const auto share = static_cast<int64_t>(plan.depths.size());
    next = static_cast<const char*>(operands.a) + (row + rows) * row_bytes + bytes * k / plan.k;
    lines = ceil_div(bytes / share, steps * kLine);
  }

  /// The next part's rows of A are prepared at once: each panel of this one fetches its share.
  void fetch_rows(const DepthRange& depth, int64_t begin, int64_t end) const {
    if (plan.kernels->preparation == nullptr || operands.source != nullptr || plan.staged) return;
    const auto* a = static_cast<const float*>(operands.a) + row * operands.a_stride + depth.first;
    for (int64_t r = rows * begin / columns; r < rows * std::min(end, columns) / columns; ++r)
      for (int64_t at = 0; at < depth.count; at += kLine / 4)
        __builtin_prefetch(a + r * operands.a_stride + at, 0, 2);
  }

  void prepare_panel(int64_t c, int64_t k, int64_t count, Tile& tile) const {
    if (plan.makes_panels) return make_panels(c, k, count, tile);
    const Preparation* preparation = plan.kernels->preparation;
    if (preparation == nullptr) return;
    preparation->panel(static_cast<const float*>(tile.b), count, scratch.prepared_panel);
    tile.b = scratch.prepared_panel;
  }

  void make_panels(int64_t c, int64_t k, int64_t count, Tile& tile) const {
    const int64_t bytes = panel_elements() * element_size(plan.kernels->type);
    char* to = scratch.prepared_panel;
    for (int64_t at = 0; at < tile.columns; at += plan.kernels->panel, to += bytes)
      (*operands.panels)(column + c + at, k, count, to);
    tile.b = scratch.prepared_panel;
  }

  void prepare_rows(int64_t count, Tile& tile) const {
    const Preparation* preparation = plan.kernels->preparation;
    if (preparation == nullptr) return;
    const int64_t stride = preparation->row_stride(count);
    preparation->rows(static_cast<const float*>(tile.a), tile.a_stride, rows, count,
                      scratch.prepared_rows, stride);
    tile.a = scratch.prepared_rows, tile.a_stride = stride;
  }

  void place_a(int64_t k, int64_t count, Tile& tile) const {
    if (plan.staged && plan.kernels->preparation != nullptr) {
      tile.a_stride = operands.a_stride;
      tile.a = static_cast<const float*>(operands.a) + row * operands.a_stride +
               plan.kernels->preparation->row_stride(k);
      return;
    }
    find_a(k, count, tile);
    prepare_rows(count, tile);
  }

  void find_a(int64_t k, int64_t count, Tile& tile) const {
    if (operands.source == nullptr) {
      tile.a_stride = operands.a_stride;
      tile.a = static_cast<const char*>(operands.a) +
               (row * operands.a_stride + k) * element_size(plan.kernels->type);
      return;
    }
    (*operands.source)(row, rows, k, count, scratch.rows, scratch.row_stride);
    tile.a = scratch.rows;
    tile.a_stride = scratch.row_stride;
  }

  /// Each tile fetches one line for every step of k: the first ones from `next`, the next panel,
  /// the others the prefetched data.
  void choose_fetch(Tile& tile, int64_t index, int64_t tiles, const char* next, int64_t lines) {
    tile.prefetch_step = kLine;
    if (tiles < lines || ahead.empty()) {
      tile.prefetch_step = ceil_div(kLine * lines, tiles);
      tile.prefetch = next + index * tile.k * tile.prefetch_step;
    } else if (index < lines) {
      tile.prefetch = next + index * tile.k * kLine;
    } else {
      const size_t bytes = std::min<size_t>(ahead.size(), tile.k * kFetchStep);
      tile.prefetch_step = bytes < static_cast<size_t>(tile.k * kFetchStep) ? 0 : kFetchStep;
      tile.prefetch = ahead.empty() ? next : reinterpret_cast<const char*>(ahead.data());
      ahead = ahead.subspan(bytes);
    }
  }

  /// The end of tile `index`, which begins with row r. Tiles are of nearly equal height: a short
  /// last one would waste its loads of B. Where rows lie in lines, each tile is of one line.
  int64_t end_of_tile(int64_t index, int64_t tiles, int64_t r) const {
    const int64_t line = plan.lines.rows;
    if (line == 0 && plan.kernels->row_unit > 1) return std::min(rows, r + plan.kernels->max_rows);
    if (line == 0) return (index + 1) * rows / tiles;
    const int64_t at = (row + r) % line, cuts = ceil_div(line, plan.kernels->max_rows);
    int64_t cut = at * cuts / line + 1;
    while (cut * line / cuts <= at) ++cut;
    return std::min(rows, r + cut * line / cuts - at);
  }

  /// By reference: a copy of the tile, which was just written, would wait for the stores of all
  /// tiles before.
  void panel_of_tiles(Tile& tile, int64_t tiles, int64_t c, bool first, bool last, const char* next,
                      int64_t lines) {
    const int64_t a_step = tile.a_stride * element_size(plan.kernels->type);
    const void* a = tile.a;
    for (int64_t i = 0, r = 0, end; r < rows; ++i, r = end) {
      end = end_of_tile(i, tiles, r);
      tile.rows = static_cast<int>(end - r);
      choose_fetch(tile, i, tiles, next, lines);
      tile.a = static_cast<const char*>(a) + r * a_step;
      start(tile, r, c, first);
      if (last)
        finish(tile, r, c);
      else
        keep_sums(tile, r, c);
    }
    tile.a = a;
  }

  float* sums_at(int64_t r, int64_t c) const { return scratch.sums + r * plan.column_block + c; }

  void start(Tile& tile, int64_t r, int64_t c, bool first) const {
    tile.initial = nullptr;
    tile.initial_stride = 0;
    if (!first) {
      tile.initial = sums_at(r, c);
      tile.initial_stride = plan.column_block;
    } else if (plan.registers.bias >= 0) {
      tile.initial =
          static_cast<const float*>(operands.operands[plan.registers.bias].data) + column + c;
    }
  }

  void keep_sums(Tile& tile, int64_t r, int64_t c) const {
    tile.output = sums_at(r, c);
    tile.output_stride = plan.column_block;
    tile.output_type = ElementType::f32;
    plan.kernels->run(tile);
  }

  void finish(Tile& tile, int64_t r, int64_t c) const {
    const int64_t place = plan.lines.place(row + r);
    const int64_t at =
        place * operands.output_stride + (column + c) / columns_of_result(plan.steps);
    void* output = static_cast<char*>(operands.output) + at * element_size(plan.output_type);
    fetch_output(tile, output);
    if (plan.registers.rest < static_cast<int>(plan.steps.size()))
      return finish_in_memory(tile, place, c, output);
    tile.output = output;
    tile.output_stride = operands.output_stride;
    tile.output_type = plan.output_type;
    tile.activation = plan.registers.activation;
    tile.low = plan.registers.low;
    tile.high = plan.registers.high;
    if (plan.registers.residual >= 0) {
      const EpilogueOperand& residual = operands.operands[plan.registers.residual];
      const int64_t from = place * residual.row_stride + column + c;
      tile.residual =
          static_cast<const char*>(residual.data) + from * element_size(plan.output_type);
      tile.residual_stride = residual.row_stride;
    }
    plan.kernels->run(tile);
  }

  /// Stores to lines that are in no cache would wait for memory one after the other.
  void fetch_output(const Tile& tile, const void* output) const {
    const int64_t size = element_size(plan.output_type),
                  bytes = tile.columns / columns_of_result(plan.steps) * size;
    const char* line = static_cast<const char*>(output);
    for (int r = 0; r < tile.rows; ++r, line += operands.output_stride * size)
      for (int64_t at = 0; at < bytes; at += kLine) prefetch_for_writing(line + at);
  }

  void finish_in_memory(Tile& tile, int64_t place, int64_t c, void* output) const {
    FinishTile finish{
        .tile = plan.finish_in_place ? static_cast<float*>(output) : scratch.tile,
        .tile_stride = plan.finish_in_place ? operands.output_stride : 2 * plan.kernels->panel,
        .rows = tile.rows,
        .columns = tile.columns,
        .row = place,
        .column = column + c,
        .output = output,
        .output_stride = operands.output_stride,
        .output_type = plan.output_type};
    tile.output = finish.tile;
    tile.output_stride = finish.tile_stride;
    tile.output_type = ElementType::f32;
    plan.kernels->run(tile);
    const std::span<const EpilogueStep> steps(plan.steps);
    plan.finish(finish, steps.subspan(plan.registers.rest),
                operands.operands + plan.registers.rest);
  }
};

}  // namespace

size_t ProductPlan::worker_scratch_bytes() const {
  return Scratch::row_bytes(*this) + Scratch::sum_bytes(*this) + Scratch::tile_bytes(*this) +
         Scratch::prepared_row_bytes(*this) + Scratch::prepared_panel_bytes(*this);
}

int64_t ProductPlan::fetch_bytes_of_task() const {
  const int64_t tiles = ceil_div(row_block, kernels->max_rows);
  const int64_t step = kernels->columns_for(static_cast<int>(ceil_div(row_block, tiles)));
  const int64_t free = std::max<int64_t>(0, tiles - lines_a_step(*kernels, step));
  return ceil_div(column_block, step) * free * ceil_div(k, kernels->k_unit) * kFetchStep;
}

std::span<const std::byte> part_of(std::span<const std::byte> bytes, int64_t index, int64_t count) {
  if (bytes.empty()) return bytes;
  const int64_t lines = static_cast<int64_t>(bytes.size()) / kLine;
  const int64_t begin = lines * index / count, end = lines * (index + 1) / count;
  return bytes.subspan(begin * kLine, (end - begin) * kLine);
}

void stage_rows(const ProductPlan& plan, const RowSource& source, ThreadPool& pool, void* to) {
  const int64_t stride = plan.staged_stride();
  pool.parallel_for(plan.m, 8, [&](int64_t begin, int64_t end, int) {
    char* row = static_cast<char*>(to) + begin * stride * element_size(plan.kernels->type);
    const Preparation* preparation = plan.kernels->preparation;
    if (preparation == nullptr) return source(begin, end - begin, 0, plan.k, row, stride);
    auto* prepared = reinterpret_cast<float*>(row);
    float* at_end =
        prepared + preparation->row_stride(plan.k) - round_up(plan.k, preparation->depth);
    source(begin, end - begin, 0, plan.k, at_end, stride);
    preparation->rows(at_end, stride, end - begin, plan.k, prepared, stride);
  });
}

void run_product(const ProductPlan& plan, const ProductOperands& operands, int64_t row,
                 int64_t rows, int64_t column, int64_t columns, void* scratch) {
  Run run{plan, operands, Scratch(plan, scratch), row, rows, column, columns};
  plan.kernels->begin();
  run.all();
  plan.kernels->end();
}

}  // namespace tenon::cpu
