#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "device/cpu/thread_pool.h"
#include "kernels/gemm/microkernel.h"

/// The blocked matrix product under both matmul and convolution: C = epilogue(A * B) with B packed,
/// and A either in memory with a row stride or gathered block by block.
namespace tenon::cpu {

/// Writes rows [row, row + rows) x steps [k, k + count) of A to `to`, in the kernels' type, zero up
/// to their k_unit.
using RowSource = FunctionRef<void(int64_t row, int64_t rows, int64_t k, int64_t count, void* to,
                                   int64_t to_stride)>;

/// Writes steps [k, k + count) of the panel of B that begins with this column to `to`, packed as
/// for Microkernels: B lies elsewhere in another form.
using PanelSource = FunctionRef<void(int64_t column, int64_t k, int64_t count, void* to)>;

/// Output rows that do not all lie side by side: lines of them, some lines an image. Steps are in
/// rows of the output.
struct OutputLines {
  int64_t rows = 0;  ///< of a line; 0: all rows lie side by side
  int64_t lines = 1;
  int64_t line_step = 0, image_step = 0;  ///< from one line or image to the next

  int64_t place(int64_t row) const {
    if (rows == 0) return row;
    const int64_t line = row / rows;
    return line / lines * image_step + line % lines * line_step + row % rows;
  }
};

/// Rows of gathered blocks lie this many bytes further apart than needed, off the powers of two.
inline constexpr int64_t kRowPadding = 64;

/// Steps [first, first + count) of k.
struct DepthRange {
  int64_t first, count;
};

/// A product of which only a part is wanted.
struct PartialProduct {
  OutputLines lines;
  std::vector<DepthRange> depths;  ///< In order, at multiples of k_unit; empty: all of k.
};

/// The parts that are fixed before the first run. The order of summation depends on k alone, so
/// results depend neither on threads nor on how rows and columns are cut.
struct ProductPlan {
  const Microkernels* kernels = nullptr;
  FinishFunction finish = nullptr;
  int64_t m = 0, n = 0, k = 0;
  ElementType output_type = ElementType::f32;
  std::vector<EpilogueStep> steps;
  RegisterEpilogue registers;
  bool finish_in_place =
      false;  ///< The steps that registers do not take may work on the output itself.
  OutputLines lines;
  std::vector<DepthRange> depths;  ///< One after the other, each with its rows of A in the cache.
  int64_t k_block = 0;             ///< The longest of them.
  int64_t row_block = 0;           ///< rows and columns of one task
  int64_t column_block = 0;
  int64_t row_groups = 1;
  /// Several tasks would gather the same rows of A: they are gathered once, before the tasks.
  bool staged = false;
  bool makes_panels = false;  ///< B comes from a PanelSource.

  /// Rows of most tiles.
  int64_t tile_height() const;
  /// Rows rounded up to whole tiles.
  int64_t rows_of_tiles(int64_t rows) const;
  int64_t row_tasks() const { return (m + row_block - 1) / row_block; }
  int64_t column_tasks() const { return (n + column_block - 1) / column_block; }
  /// Which block of rows (of all `copies` of the product together) and which column a task begins
  /// with. Neighbours share a block of B, and with row_groups > 1 the first tasks have the upper
  /// rows only, so that each thread meets the rows that it wrote before.
  struct Place {
    int64_t row_task, column;
  };
  Place place_of(int64_t task, int64_t copies = 1) const;
  size_t worker_scratch_bytes() const;
  int64_t staged_stride() const;  ///< elements
  size_t staged_bytes() const;    ///< 0 where nothing is staged
  /// Bytes of other memory that one task can fetch into the caches while it computes.
  int64_t fetch_bytes_of_task() const;
};

/// Chooses blocks for `threads` threads and `batch` such products a run; `gathered` tells that A
/// goes through a RowSource, `makes_panels` that B goes through a PanelSource.
ProductPlan plan_product(const Microkernels& kernels, int64_t m, int64_t n, int64_t k,
                         ElementType output_type, std::vector<EpilogueStep> steps, int64_t batch,
                         int threads, bool gathered, const PartialProduct& part = {},
                         bool makes_panels = false);

/// One product's addresses.
struct ProductOperands {
  const void* a = nullptr;  ///< in the kernels' type; null when `source` serves
  int64_t a_stride = 0;
  const RowSource* source = nullptr;
  const void* b = nullptr;              ///< packed; null when `panels` serves
  const PanelSource* panels = nullptr;  ///< Where the plan makes them.
  void* output = nullptr;
  int64_t output_stride = 0;
  const EpilogueOperand* operands = nullptr;  ///< parallel to the plan's steps
  std::span<const std::byte> ahead;           ///< this task's part of LaunchArguments::ahead
};

/// Part `index` of `count` nearly equal ones, in whole cache lines.
std::span<const std::byte> part_of(std::span<const std::byte> bytes, int64_t index, int64_t count);

/// Whether A can be read where it lies: its rows do not fall on the same cache sets, and k is
/// whole.
bool can_read_directly(const Microkernels& kernels, int64_t k, int64_t a_stride);

/// Gathers all rows of A to `to`.
void stage_rows(const ProductPlan& plan, const RowSource& source, ThreadPool& pool, void* to);

/// Computes rows [row, row + rows) x columns [column, column + columns); `scratch` is the worker's
/// own.
void run_product(const ProductPlan& plan, const ProductOperands& operands, int64_t row,
                 int64_t rows, int64_t column, int64_t columns, void* scratch);

}  // namespace tenon::cpu
