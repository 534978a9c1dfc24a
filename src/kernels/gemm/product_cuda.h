#pragma once

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/plan.h"

namespace tenon {

/// A batch of matrix products with their epilogue: result[m, n] = sum over k.
struct DeviceProduct {
  AnchoredRegion region;
  int a = 0, b = 0;  ///< Problem inputs.
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;  ///< Strides; rows of b run along k.
  IndexLoop batch;                                           ///< Axes of the result.
  std::vector<int64_t> a_batch, b_batch;  ///< Strides by axis of the result; 0 where broadcast.
  IndexLoop loop;                         ///< batch, m, n of the steps' values.
  IndexLoop results;  ///< The same of the result, which has half of the columns behind a gate.

  int64_t batches() const { return loop_count(batch); }
};

/// Kernels for few rows, at most so many, keep sums of all of them in registers.
inline constexpr int64_t kFewProductRows = 4;

/// Fails, with the reason, for other than matrix products.
Result<DeviceProduct> describe_product(const Problem& problem, RegionExtras extras = {});

/// Types and extents that all product kernels take.
void add_product(KernelCode& code, const Problem& problem, const DeviceProduct& product);

/// With a block of so many threads for each tile of results; the source is set apart.
JitLaunch launch_of_tiles(const DeviceProduct& product, int64_t rows, int64_t columns,
                          int64_t block, const std::vector<int>& epilogue_inputs);

}  // namespace tenon
