// Matrix products of 16-bit floats with weights of which two of each four along k are 0, on Hopper: as gemm/hopper.cu, but a
// warp has all rows of a tile and few of its columns, so that its results leave by slices of 16 rows.

// Operands of so many slices are on their way at a time as registers hold beside the sums and a thread's other values.
enum : int { kSlices = kTileM / 16, kFree = (kComputingRegisters - kParts * kSums - 64) / (kItems * 4) };
enum : int { kDepth = kFree < 1 ? 1 : kFree > 4 ? 4 : kFree };
static_assert(kSplits == 1 && kTileM % 64 == 0, "whole slices, and no sums of other blocks");

// The start of the sums: 0, or the bias, one number a column.
#ifdef BIASED
struct Start {
  enum : bool { kBiased = true };
  Fetched<BiasAt, 2, Bias> pairs[kParts];

  __device__ void fetch(const Tile& tile, const Bias* bias) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      fetch_pair<BiasAt>(pairs[part], bias, 0, first_column(tile) + part * 16 + threadIdx.x % 32 / 4 * 2);
  }
  __device__ void fill(Sums& sums) const {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      float bias[2];
      widen_fetched<BiasAt, 2>(pairs[part], bias);
#pragma unroll
      for (int i = 0; i < kSums; ++i) sums[part][i] = bias[i / 2 % 2];
    }
  }
};
#else
typedef Y Bias;
enum : bool { kBiasConstant = false };
struct Start {
  enum : bool { kBiased = false };
  __device__ void fetch(const Tile&, const Bias*) {}
  __device__ void fill(Sums&) const {}
};
#endif

// Terms of rows that are standardized: all warps need those of all rows of the tile.
#ifdef STANDARDIZES
enum : int { kTableBytes = kTileM * 8 };
__device__ inline void fill_table(u32 table, const Tile& tile ROWS_PARAMETERS) {
  const int group = kTurns > 1 ? threadIdx.x / 128 : 0;
  constexpr int kThreads = kTurns > 1 ? 128 : kConsumers;
  barrier_of(8 + group, kThreads);
  for (int row = threadIdx.x % kThreads; row < kTileM; row += kThreads) {
    const float2 terms = terms_of_row<true>(row_of({tile.m, 0, 0}, row) ROWS_ARGUMENTS);
    store_shared_pair(float(), table + row * 8, terms.x, terms.y);
  }
  barrier_of(8 + group, kThreads);
}
__device__ inline void take_terms(RowTerms& to, u32 table, int slice) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
    load_shared_pair(table + (slice * 16 + half * 8 + row_lane()) * 8, to.mean[half], to.inverse[half]);
}
#else
enum : int { kTableBytes = 0 };
__device__ inline void fill_table(u32, const Tile& ROWS_PARAMETERS) {}
__device__ inline void take_terms(RowTerms&, u32, int) {}
#endif

__device__ inline void fetch_slices(SlabOperands (&to)[kDepth], const Tile& tile ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int slice = 0; slice < kDepth; ++slice) fetch_slab(to[slice], place_in(tile, slice), 0 ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
}
__device__ inline void store_slices(const Sums& sums, SlabOperands (&operands)[kDepth], const Tile& tile, u32 scratch, u32 table,
                                    Y* y ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int slice = 0; slice < kSlices; ++slice) {
    if (!kWholeTiles && tile.m + slice * 16 >= kM) break;
    SlabOperands now = operands[slice % kDepth];
    if (slice + kDepth < kSlices)
      fetch_slab(operands[slice % kDepth], place_in(tile, slice + kDepth), 0 ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    RowTerms rows;
    take_terms(rows, table, slice);
    Accumulator own[kOwn / 2];
    take_slice(own, sums, slice);
    store_tile(own, now, rows, scratch, y, place_in(tile, slice) ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
  }
}

extern "C" __global__ void __launch_bounds__(kConsumers + kFetchers, kBlocksEach)
    kernel(const __grid_constant__ TensorMap a, const char* __restrict__ weights, const Bias* __restrict__ bias,
           Y* __restrict__ y ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  release_next();
  const u32 stages = (shared_address(raw) + 1023) / 1024 * 1024;
  const u32 scratch = stages + kStages * kStageBytes, tables = scratch + kGroups * 4 * 16 * kPitch;
  const u32 barriers = tables + kTurns * kTableBytes;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      barrier_create(barriers + i * 16, 1);
      barrier_create(barriers + i * 16 + 8, kGroups / kTurns * 4);
    }
    barriers_visible();
  }
  __syncthreads();
  const int first = blockIdx.x, step = gridDim.x;
  const int warp = warp_of_block();
  if (warp >= kConsumers / 32) {
    if constexpr (kMovesRegisters) leave_registers<kFetchingRegisters>();
    if (threadIdx.x == kConsumers) produce(a, SparseWeights{weights}, stages, barriers, {first, step, kTiles}, 0, kBlocksK);
    return;
  }
  if constexpr (kMovesRegisters) take_registers<kComputingRegisters>();
  const int turn = kTurns > 1 ? warp / 4 : 0, group = kGroups > 1 && kTurns == 1 ? warp / 4 : 0;
  const u32 table = tables + turn * kTableBytes;
  Start start;
  if (kBiasConstant) start.fetch(tile_of(first + turn * step), bias);
  wait_previous();
  if (!kBiasConstant) start.fetch(tile_of(first + turn * step), bias);
  Ring at;
  at.skip(turn * kBlocksK);
  for (int t = first + turn * step; t < kTiles; t += kTurns * step, at.skip((kTurns - 1) * kBlocksK)) {
    const Tile tile = tile_of(t);
    SlabOperands operands[kDepth];
    fetch_slices(operands, tile ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    fill_table(table, tile ROWS_ARGUMENTS);
    Sums sums;
    start.fill(sums);
    await_turn(t == first);
    multiply_tile<Start::kBiased>(sums, stages, barriers, at, group, 0, kBlocksK, t + step >= kTiles);
    // In turns registers are few here, and there is time behind the epilogue.
    if (kTurns == 1 && t + step < kTiles) start.fetch(tile_of(t + step), bias);
    store_slices(sums, operands, tile, scratch, table, y ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    if (kTurns > 1 && t + kTurns * step < kTiles) start.fetch(tile_of(t + kTurns * step), bias);
  }
}
