#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/jit/hopper.h"
#include "kernels/jit/plan.h"

namespace tenon::hopper {

constexpr int64_t kTileK = 64;  ///< Of 16-bit elements; twice as many of 8 bits.

/// Of a batch of matrix products; k counts 16 bits.
struct ProductSizes {
  int64_t m = 1, n = 1, k = 1, batches = 1;
};

/// How gemm/hopper.cu cuts a product: tiles of 64 * `parts` rows and `columns` columns; `splits`
/// blocks share k; `each` run on one multiprocessor at a time. A warp group for each part, or so
/// many that take tiles in `turns`.
struct Tiling {
  int64_t parts = 2, columns = 128, splits = 1, each = 1;
  bool moves = false;  ///< Registers, from the threads that fetch.
  int64_t turns = 1;
  int64_t boxes = 0;  ///< Bytes of an element of results that leave by TMA; 0: they do not.
  /// Of all of k, in blocks of kTileK, the block holds its columns in shared memory while it takes
  /// tiles down them; 0: stages bring columns as well as rows.
  int64_t held = 0;

  GroupShape shape() const { return {turns > 1 ? turns : parts, each, moves}; }
  int64_t rows() const { return parts * 64; }
  int64_t stage_bytes() const { return (rows() + (held > 0 ? 0 : columns)) * kTileK * 2; }
  /// Columns that are held, results on their way out, sums from other blocks, barriers.
  int64_t other_bytes() const;
  int64_t stages() const;
  int64_t tiles(const ProductSizes& p) const {
    return blocks_for(p.m, rows()) * blocks_for(p.n, columns) * p.batches;
  }
  std::string text() const;
  bool is_possible() const;
};

/// Of a configuration for the product; fails where that has none such.
Result<Tiling> parse_tiling(std::string_view config, const ProductSizes& p);

/// Those of `tilings` that fit the product, by how long they will take on so many multiprocessors,
/// the shortest first; at most `count`.
std::vector<Tiling> best_tilings(const std::vector<Tiling>& tilings, const ProductSizes& p,
                                 int units, size_t count);

/// Tilings without turns.
std::vector<Tiling> plain_tilings();
/// Tilings of blocks that hold the columns of a product with constant ones; none where shared
/// memory has no room.
std::vector<Tiling> holding_tilings(const ProductSizes& p);

/// The elements of A and B, and their sums.
struct OperandType {
  int bytes = 2;
  std::string_view sums = "f32";
  /// Stages of 128 bytes of k whose sums tensor cores keep, before they are added to others; 0:
  /// all.
  int64_t kept_stages = 0;
  int64_t row_bytes =
      128;  ///< Of k in a row of shared memory: 128, or 64 in two panels of a stage.
};
void add_operand_type(KernelCode& code, const OperandType& type);
/// The constants that the kernel's files take of the tiling.
void add_tiling(KernelCode& code, const Tiling& t);
/// Inputs of launches that walk (jit/hopper.cuh): an image or rows, and addends, which are the
/// epilogue's operands.
struct WalkedInputs {
  int image = 0;
  std::vector<int> addends;
  bool image_once = false;  ///< Each element of it once for a tile.
};
/// Their tiles, how many are computed at a time, and a block's bytes of a row of results, which has
/// `row_bytes`.
struct WalkedTiles {
  int64_t count = 1, at_a_time = 1, own_bytes = 0, row_bytes = 0;
};
/// Has the kernel follow walks where those pay; true if it then takes one as its last argument.
/// Code for all extents has it among its open numbers where walks pay under the largest shapes that
/// the plan serves: launches for which they do not pay have none.
bool add_walk(KernelCode& code, const Problem& problem, const WalkedInputs& inputs,
              const WalkedTiles& tiles);
/// Tiles that the GPU computes at a time.
inline int64_t at_a_time(const Tiling& t, int units) {
  return std::max<int64_t>(units * t.each / t.splits, 1);
}
void shape_launch(JitLaunch& launch, const Tiling& t, const ProductSizes& p, int units);

}  // namespace tenon::hopper
