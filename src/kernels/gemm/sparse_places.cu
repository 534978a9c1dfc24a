// Which results of gemm/sparse.cu a warp has: kOwn columns of each slice of 16 rows.

/// The warp's first element of a slice in the result.
struct Place {
  int row, column, batch;
};
__device__ inline int first_column(const Tile& tile) {
  return tile.n + (kTurns > 1 ? threadIdx.x / 32 % 4 : threadIdx.x / 32) * kOwn;
}
__device__ inline Place place_in(const Tile& tile, int slice) { return {tile.m + slice * 16, first_column(tile), tile.batch}; }
__device__ inline bool row_exists(const Place& at, int row) { return kWholeTiles || at.row + row < kM; }
/// Of a row that exists: as far from the next one as all are.
__device__ inline Index existing_row(const Place& at, int row) { return at.row + row; }
/// Rows behind the last one read the last one's.
__device__ inline Index row_of(const Place& at, int row) { return row_exists(at, row) ? at.row + row : kM - 1; }

/// Operands of the epilogue are prefetched.
enum : bool { kFetchesAhead = true };
