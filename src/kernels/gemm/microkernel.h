#pragma once

#include <cstdint>

#include "device/cpu/do_nothing.h"
#include "kernels/epilogue/epilogue.h"

/// The innermost matrix product: a few rows of A times one or two packed panels of B, kept in
/// registers.
namespace tenon::cpu {

/// One call of a microkernel. Strides are in elements.
///
/// B is packed in panels of `panel` columns: for every `k_unit` steps of k, panel * k_unit
/// elements, the k_unit ones of a column side by side (1 for float, 2 for bf16). Columns and k are
/// padded with zeros.
struct Tile {
  const void* a = nullptr;
  int64_t a_stride = 0;
  const void* b = nullptr;
  int64_t b_panel_stride = 0;  ///< from one panel to the next, in elements
  int64_t k = 0;               ///< in units of k_unit
  /// Where set, a tile of one full panel multiplies by b - b_minus. With b_difference it keeps that
  /// there for the tiles that follow. Only with kernels that have `strassen`.
  const void* b_minus = nullptr;
  void* b_difference = nullptr;
  int rows = 0;     ///< 1 .. max_rows
  int columns = 0;  ///< 1 .. columns_for(rows)

  /// Memory to fetch meanwhile, so much for every step of k: the panel that comes next.
  const void* prefetch = nullptr;
  int64_t prefetch_step = 0;

  /// Start values: null (zeros), a bias (stride 0), or the sums over earlier parts of k.
  const float* initial = nullptr;
  int64_t initial_stride = 0;

  const void* residual = nullptr;  ///< of the output's type
  int64_t residual_stride = 0;
  RegisterActivation activation = RegisterActivation::none;
  float low = 0.0f;
  float high = 0.0f;

  void* output = nullptr;
  int64_t output_stride = 0;
  ElementType output_type = ElementType::f32;
};

/// Vector loops of Strassen's scheme, over rows of floats.
struct StrassenLoops {
  /// The four sums of A's quarters (see strassen.h) for `count` steps of one row.
  void (*combine_a)(const float* a11, const float* a12, const float* a21, const float* a22,
                    int64_t count, float* const (&to)[4]);
  /// Rows of the four quarters of C from the seven products, which lie `product_stride` floats
  /// apart; `bias` is null, or has the left and the right columns.
  void (*combine_c)(const float* products, int64_t product_stride, int64_t row_stride, int64_t rows,
                    int64_t columns, const float* const (&bias)[2], float* const (&to)[4],
                    const int64_t (&to_stride)[4]);
};

/// Of kernels that multiply other numbers than the operands are: both operands of a block are
/// prepared, rows of A for all panels that they meet and a panel of B for all these rows.
struct Preparation {
  int64_t element_bytes;  ///< Of a prepared element.
  int64_t depth;          ///< Steps of k are prepared up to a multiple of so many.
  int64_t k_block;        ///< A panel of so many stays in the first-level cache,
  int64_t row_block;      ///< and so many rows in the second.
  /// Times of preparing a row and a column, in those of multiplying a row with a column.
  double row_time, column_time;
  /// Both floats; strides in elements of f32. Rows may be prepared where they end.
  void (*rows)(const float* a, int64_t stride, int64_t rows, int64_t k, float* to,
               int64_t to_stride);
  void (*panel)(const float* b, int64_t k, void* to);

  double work(double rows, double columns) const {
    return rows * columns + rows * row_time + columns * column_time;
  }
  /// In elements of f32.
  int64_t row_stride(int64_t k) const {
    return (k + depth - 1) / depth * depth * element_bytes / static_cast<int64_t>(sizeof(float));
  }
};

/// The microkernels of one instruction set and type of operands.
struct Microkernels {
  Isa isa;
  ElementType type;  ///< of A and B
  int k_unit;
  int panel;
  int max_rows;
  int wide_rows;  ///< up to so many rows a tile may span two panels
  void (*run)(const Tile& tile);
  const StrassenLoops* strassen = nullptr;
  int row_unit = 1;   ///< Fewer rows, or more up to the next multiple, take as long.
  int64_t depth = 8;  ///< Steps that parts of k best are multiples of.
  /// Where set, A and B of a tile are prepared, with rows up to a multiple of row_unit.
  const Preparation* preparation = nullptr;
  /// Called by a thread ahead of its tiles and behind them.
  void (*begin)() = do_nothing;
  void (*end)() = do_nothing;

  int columns_for(int rows) const { return rows <= wide_rows ? 2 * panel : panel; }
};

/// The best set up to `isa` for operands stored as `type`; bf16 operands are widened to float (then
/// `type` of the result is f32) where the machine has no bf16 products.
const Microkernels& microkernels(ElementType type, Isa isa);

/// Those that multiply by tiles, floats by six products of bf16 for each; null where the machine
/// has none. Whoever runs them calls begin() and end().
const Microkernels* tile_microkernels(ElementType type, Isa isa);

/// Whether a product may be faster by these: fewer rows, columns or steps fill no tiles, or do not
/// make up for the preparation of operands.
inline bool pays_by_tiles(ElementType type, int64_t m, int64_t n, int64_t k) {
  const int64_t least = type == ElementType::bf16 ? 16 : 64;
  return m >= least && n >= least && k >= least;
}

}  // namespace tenon::cpu
