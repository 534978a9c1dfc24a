#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/hopper_tiling_cuda.h"

namespace tenon::hopper {

/// How gemm/sparse.cu cuts a product whose weights have two of each four numbers along k: tiles of
/// `rows` rows by 64 * `parts` columns for each of the warp groups, or for the one of them whose
/// turn it is; `each` blocks run on one multiprocessor at a time.
struct SparseTiling {
  int64_t rows = 128, groups = 2, parts = 1, turns = 1, each = 1;

  GroupShape shape() const { return {groups, each, each == 1}; }
  int64_t columns() const { return groups / turns * parts * 64; }
  int64_t stage_bytes() const;
  /// Results on their way out, terms of rows, barriers.
  int64_t other_bytes() const;
  int64_t stages() const;
  int64_t tiles(const ProductSizes& p) const {
    return blocks_for(p.m, rows) * blocks_for(p.n, columns());
  }
  /// Contiguous columns of a row in one warp.
  int64_t own() const { return parts * 16; }
  std::string text() const;
  bool is_possible() const;
};

Result<SparseTiling> parse_sparse_tiling(std::string_view config);
/// Some of the tilings that fit, by their expected times, the shortest first. Warps have whole
/// groups of so many columns.
std::vector<std::string> best_sparse_tilings(const ProductSizes& p, int units, int64_t group);

/// The constants that the kernel's files take of the tiling, and the product of a warp group.
void add_sparse_tiling(KernelCode& code, const SparseTiling& t, bool bf16);
void shape_launch(JitLaunch& launch, const SparseTiling& t, const ProductSizes& p, int units);

/// Weights [n, k] of 16 bits within a tensor: steps from a column to the next, and for each of k,
/// which is a multiple of kTileK, where it is in the column; below 0 where there is none, which
/// counts as 0.
struct SparseColumns {
  int64_t n = 1, stride = 1;
  std::vector<int64_t> places;
};
/// The constant as gemm/sparse_products.cu takes it.
JitConstant packed_sparse(const Tensor& weights, const SparseColumns& columns,
                          const SparseTiling& t, std::string_view recipe);

}  // namespace tenon::hopper
