// Matrix products of 16-bit floats, or of 8-bit numbers, on Hopper: one thread has TMA fetch tiles of A and B, kGroups warp groups
// multiply them, all of them 64 rows of a tile each, or each a tile in turn, kStages tiles deep. Where results are few,
// kSplits blocks of a cluster share k and each finishes a part of the columns.

// Where blocks share k: sums of the block's columns from the others, 16 bytes of a thread beside each other's.
enum : int { kSumsBytes = (kSplits - 1) * (kOwn / 8) * kConsumers * 16 };

/// Each block's columns to that block; gives the total of all sums of its own columns, in a fixed order.
__device__ inline void exchange_sums(Accumulator (&own)[kOwn / 2], const Accumulator (&sums)[kTileN / 2], u32 received, u32 barrier,
                                     int rank) {
#pragma unroll
  for (int s = 0; s < kSplits; ++s) {
    if (s == rank) {
#pragma unroll
      for (int i = 0; i < kOwn / 2; ++i) own[i] = sums[s * (kOwn / 2) + i];
      continue;
    }
    const int slot = rank < s ? rank : rank - 1;
    const u32 to = address_in_block(received + (slot * (kOwn / 8) * kConsumers + threadIdx.x) * 16, s);
    const u32 counted = address_in_block(barrier, s);
#pragma unroll
    for (int j = 0; j < kOwn / 8; ++j) send_to_block(to + j * kConsumers * 16, &sums[s * (kOwn / 2) + j * 4], counted);
  }
  if constexpr (kSplits > 1) barrier_wait_cluster(barrier, 0);
#pragma unroll
  for (int s = 0; s < kSplits - 1; ++s)
#pragma unroll
    for (int j = 0; j < kOwn / 8; ++j) {
      Accumulator part[4];
      load_shared(part, received + ((s * (kOwn / 8) + j) * kConsumers + threadIdx.x) * 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) own[j * 4 + i] += part[i];
    }
}

// Where results go: memory, but in quantized/hopper_boxes.cu.
#ifndef BOX_PARAMETERS
#define BOX_PARAMETERS
#define BOX_ARGUMENTS
struct Destination {
  Y* y;
  __device__ Destination(Y* to, u32, u32) : y(to) {}
  __device__ static void create(u32) {}
  __device__ void expect_tile(int, int WALK_PARAMETERS) const {}
  __device__ void finish() const {}
  __device__ operator Y*() const { return y; }
};
#endif

extern "C" __global__ void __launch_bounds__(kConsumers + kFetchers, kBlocksEach)
    kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b BOX_PARAMETERS, const Bias* __restrict__ bias,
           Y* __restrict__ y GIVEN_ROWS EPILOGUE_PARAMETERS WALK_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  release_next();
  const u32 stages = (shared_address(raw) + 1023) / 1024 * 1024;
  const u32 scratch = stages + kStages * kStageBytes + kHeldBytes;
  const u32 received = scratch + kGroups * 4 * 16 * kPitch, barriers = received + kSumsBytes;
  const u32 exchanged = barriers + kStages * 16;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      barrier_create(barriers + i * 16, 1);
      barrier_create(barriers + i * 16 + 8, kGroups / kTurns * 4);
    }
    if constexpr (kSplits > 1) barrier_create(exchanged, 1);
    Destination::create(exchanged + 16);
    barriers_visible();
    if constexpr (kSplits > 1) barrier_expect(exchanged, kSumsBytes);
  }
  __syncwarp();
  if constexpr (kSplits > 1) cluster_start();
  else __syncthreads();
  const int rank = kSplits > 1 ? blockIdx.x % kSplits : 0;
  const Tiles tiles = own_tiles();
  const int k_begin = rank * kBlocksK / kSplits, k_end = (rank + 1) * kBlocksK / kSplits;
  const int warp = warp_of_block();
  if (warp >= kConsumers / 32) {
    if constexpr (kMovesRegisters) leave_registers<kFetchingRegisters>();
    if (threadIdx.x == kConsumers) produce(a, b, stages, barriers, tiles, k_begin, k_end WALK_ARGUMENTS);
    return;
  }
  if constexpr (kMovesRegisters) take_registers<kComputingRegisters>();
  const int turn = kTurns > 1 ? warp / 4 : 0, group = kGroups > 1 && kTurns == 1 ? warp / 4 : 0, blocks = k_end - k_begin;
  const int first = tiles.first + turn * tiles.step, step = kTurns * tiles.step;  // Of this group.
  Start start;
  if (kBiasConstant) start.fetch(tile_of(first WALK_ARGUMENTS), bias);
  wait_previous();
  if (!kBiasConstant) start.fetch(tile_of(first WALK_ARGUMENTS), bias);
  Destination to(y, scratch, exchanged + 16 BOX_ARGUMENTS);
  to.expect_tile(first, tiles.end WALK_ARGUMENTS);
  Ring at;
  at.skip(turn * blocks);
  for (int t = first; t < tiles.end; t += step, at.skip((kTurns - 1) * blocks)) {
    const Tile tile = tile_of(t WALK_ARGUMENTS);
    SlabOperands operands;
    if (kFetchesAhead) fetch_slab(operands, place_in(tile, 0, rank), 0 ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    RowTerms rows[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part) fetch_terms(rows[part], place_in(tile, part, rank) ROWS_ARGUMENTS);
    Accumulator sums[kParts][kTileN / 2];
    start.fill(sums);
    await_turn(t == tiles.first);
    multiply_all<Start::kBiased>(sums, stages, barriers, at, group, k_begin, k_end, t + tiles.step >= tiles.end);
    // In turns registers are few here, and there is time behind the epilogue.
    if (kTurns == 1 && t + step < tiles.end) start.fetch(tile_of(t + step WALK_ARGUMENTS), bias);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const Place place = place_in(tile, part, rank);
      Accumulator own[kOwn / 2];
      exchange_sums(own, sums[part], received, exchanged, rank);
      store_tile(own, operands, rows[part], scratch, to, place ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    }
    to.expect_tile(t + step, tiles.end WALK_ARGUMENTS);
    if (kTurns > 1 && t + step < tiles.end) start.fetch(tile_of(t + step WALK_ARGUMENTS), bias);
  }
  to.finish();
}
