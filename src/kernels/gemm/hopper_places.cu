// Which results of gemm/hopper.cu a warp has, and what it knows of their rows.

/// The warp's first element in the result, and which of its parts of the tile that begins.
struct Place {
  int row, column, batch, part;
};
__device__ inline Place place_in(const Tile& tile, int part, int rank) {
  const int warp = kTurns > 1 ? threadIdx.x / 32 % 4 : threadIdx.x / 32;
  return {tile.m + part * 64 + warp * 16, tile.n + rank * kOwn, tile.batch, part};
}
__device__ inline bool row_exists(const Place& at, int row) { return kWholeTiles || at.row + row < kM; }
/// Of a row that exists: as far from the next one as all are.
__device__ inline Index existing_row(const Place& at, int row) { return Index(at.batch) * kM + at.row + row; }
/// Rows behind the last one read the last one's.
__device__ inline Index row_of(const Place& at, int row) {
  return Index(at.batch) * kM + (row_exists(at, row) ? at.row + row : kM - 1);
}

__device__ inline void fetch_terms(RowTerms& to, const Place& at ROWS_PARAMETERS) {
  const int row = row_lane();
  to.fetch({row_of(at, row), row_of(at, row + 8)} ROWS_ARGUMENTS);
}

/// Operands of the epilogue are prefetched, except where groups take turns: others multiply then, and registers are few.
enum : bool { kFetchesAhead = kTurns == 1 };
