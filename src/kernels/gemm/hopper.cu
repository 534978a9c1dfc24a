// Matrix products of 16-bit floats on Hopper: one thread has the copy engine fetch tiles of A and B, kGroups warp groups
// of 64 rows each multiply them, kStages tiles deep. Where results are few, kSplits blocks of a cluster share k and add
// what they have in a fixed order; where they are many, kShare blocks of one fetch each other's parts of A.

constexpr int kTileM = kGroups * 64, kTileK = 64, kConsumers = kGroups * 128;
constexpr int kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2, kStageBytes = kBytesA + kBytesB;
constexpr int kBlocksK = (kK + kTileK - 1) / kTileK;
constexpr int kTilesM = (kM + kTileM - 1) / kTileM, kTilesN = (kN + kTileN - 1) / kTileN;
constexpr int kSharedN = (kTilesN + kShare - 1) / kShare, kTiles = kTilesM * kSharedN * kBatches;
// Columns that a warp turns from the matrix units' order into rows at a time, and floats from row to row.
constexpr int kSlab = 32, kPitch = kSlab + 8, kSlabBytes = 16 * kPitch * 4;
constexpr int kSumPitch = kTileN + 4;
static_assert(kTileN % kSlab == 0, "whole slabs");
static_assert(!kBByColumns || kTileN % 64 == 0, "whole boxes");

struct Tile {
  int m, n, batch;
};
/// kShare blocks of a cluster take tiles side by side, of the same rows.
__device__ inline Tile tile_of(int number) {
  const int column = number / kTilesM % kSharedN * kShare + (kShare > 1 ? int(cluster_rank()) : 0);
  return {number % kTilesM * kTileM, column * kTileN, number / (kTilesM * kSharedN)};
}

__device__ inline void fetch_a(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k) {
  const int batch = kABatched ? tile.batch : 0;
  if constexpr (kShare > 1) {
    // Each block fetches a part for all of them.
    constexpr int kRows = kTileM / kShare;
    const int row = int(cluster_rank()) * kRows;
    fetch_box_for_all(to + row * 128, map, barrier, k, tile.m + row, batch, (1 << kShare) - 1);
  } else if constexpr (kAByColumns) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) fetch_box(to + g * 8192, map, barrier, tile.m + g * 64, k, batch);
  } else {
    fetch_box(to, map, barrier, k, tile.m, batch);
  }
}
__device__ inline void fetch_b(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k) {
  const int batch = kBBatched ? tile.batch : 0;
  if constexpr (kBByColumns) {
#pragma unroll
    for (int n = 0; n < kTileN; n += 64) fetch_box(to + n * 128, map, barrier, tile.n + n, k, batch);
  } else {
    fetch_box(to, map, barrier, k, tile.n, batch);
  }
}

/// The stage is read: its memory in every block that shares may be written again.
__device__ inline void release_stage(u32 barrier) {
  if constexpr (kShare > 1) {
#pragma unroll
    for (int i = 0; i < kShare; ++i) barrier_arrive_in_block(address_in_block(barrier, i));
  } else {
    barrier_arrive(barrier);
  }
}

/// Place in the ring of stages. Barriers "full" lie at 16 bytes a stage, "empty" 8 bytes behind.
struct Ring {
  u32 stage = 0, phase = 0;
  __device__ void next() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
};

__device__ inline void produce(const TensorMap& a, const TensorMap& b, u32 stages, u32 barriers, int first_tile, int step,
                               int k_begin, int k_end) {
  fetch_map(a);
  fetch_map(b);
  // Constant weights are there before the kernel ahead has ended.
  const int early = !kBConstant ? 0 : (k_end - k_begin < kStages ? k_end - k_begin : kStages);
  for (int i = 0; i < early; ++i) {
    barrier_expect(barriers + i * 16, kStageBytes);
    fetch_b(b, stages + i * kStageBytes + kBytesA, barriers + i * 16, tile_of(first_tile), (k_begin + i) * kTileK);
  }
  wait_previous();
  Ring at;
  int number = 0;
  for (int t = first_tile; t < kTiles; t += step) {
    const Tile tile = tile_of(t);
    for (int k = k_begin; k < k_end; ++k, ++number, at.next()) {
      const u32 full = barriers + at.stage * 16, to = stages + at.stage * kStageBytes;
      if (number >= early) {
        barrier_wait(full + 8, at.phase ^ 1);
        barrier_expect(full, kStageBytes);
        fetch_b(b, to + kBytesA, full, tile, k * kTileK);
      }
      fetch_a(a, to, full, tile, k * kTileK);
    }
  }
}

/// Begins the sums over [k_begin, k_end) of the warp group's rows; gives the barrier of the last stage.
__device__ inline u32 multiply_tile(float (&sums)[kTileN / 2], u32 stages, u32 barriers, Ring& at, int k_begin, int k_end,
                                    bool is_first) {
  const int group = threadIdx.x / 128;
  const bool speaks = threadIdx.x % 32 == 0;
  u32 last = 0;
  if (kSkew > 0 && is_first && group > 0) barrier_of(1 + group, 256);
  for (int k = k_begin; k < k_end; ++k, at.next()) {
    // Groups that begin one after the other reach their epilogues so, too, and others compute meanwhile.
    if (kSkew > 0 && is_first && k == k_begin + kSkew && group + 1 < kGroups) barrier_arrive_of(2 + group, 256);
    const u32 full = barriers + at.stage * 16, tile = stages + at.stage * kStageBytes;
    barrier_wait(full, at.phase);
    const u64 a = tile_descriptor(tile + group * 8192, 8192), b = tile_descriptor(tile + kBytesA, 8192);
    products_begin();
#pragma unroll
    for (int s = 0; s < kTileK / 16; ++s)
      group_product(sums, a + s * (kAByColumns ? 128 : 2), b + s * (kBByColumns ? 128 : 2), k > k_begin || s > 0);
    products_commit();
    if (k > k_begin) {
      products_wait<1>();
      if (speaks) release_stage(last);
    }
    last = full + 8;
  }
  return last;
}
/// Waits for the last of them.
__device__ inline void complete_tile(u32 last) {
  products_wait<0>();
  if (threadIdx.x % 32 == 0) release_stage(last);
}

/// The number of element (m, n) of the tile in the result; the last ones for those outside.
__device__ inline Index number_of(const Tile& tile, int row, int column) {
  const int m = tile.m + row < kM ? tile.m + row : kM - 1, n = tile.n + column < kN ? tile.n + column : kN - kVector;
  return (Index(tile.batch) * kM + m) * Index(kN) + n;
}
__device__ inline bool is_inside(const Tile& tile, int row, int column) {
  return tile.m + row < kM && tile.n + column < kN;
}

__device__ inline void load_sums(Real (&v)[kVector], u32 address) {
  if constexpr (kVector == 1) {
    v[0] = load_shared(address);
  } else {
#pragma unroll
    for (int i = 0; i < kVector; i += 4) {
      float part[4];
      load_shared(part, address + i * 4);
#pragma unroll
      for (int k = 0; k < 4; ++k) v[i + k] = part[k];
    }
  }
}

constexpr int kPieces = kSlab / kVector, kItems = 16 * kPieces / 32;
using Operands = EpilogueOperands<kVector>;

/// What the epilogue of a slab reads: each thread's pieces of it.
__device__ inline void fetch_slab(Operands (&operands)[kItems], const Tile& tile, int n EPILOGUE_PARAMETERS) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int item = i * 32 + lane;
    fetch_epilogue<kVector>(operands[i],
                            number_of(tile, warp * 16 + item / kPieces, n + item % kPieces * kVector) EPILOGUE_ARGUMENTS);
  }
}

/// Each warp's 16 rows, a slab of columns at a time, through its part of shared memory. The operands of the next slab
/// are on their way meanwhile.
__device__ inline void store_tile(const float (&sums)[kTileN / 2], Operands (&first)[kItems], u32 scratch, Y* y,
                                  const Tile& tile EPILOGUE_PARAMETERS) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32 slab = scratch + warp * kSlabBytes, mine = slab + (lane / 4 * kPitch + lane % 4 * 2) * 4;
  Operands next[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) next[i] = first[i];
#pragma unroll
  for (int n = 0; n < kTileN; n += kSlab) {
    Operands operands[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) operands[i] = next[i];
    if (kFetchesAhead && n + kSlab < kTileN) fetch_slab(next, tile, n + kSlab EPILOGUE_ARGUMENTS);
    if (!kFetchesAhead) fetch_slab(operands, tile, n EPILOGUE_ARGUMENTS);
#pragma unroll
    for (int j = 0; j < kSlab; j += 8) {
      const int s = (n + j) / 2;
      store_shared(mine + j * 4, sums[s], sums[s + 1]);
      store_shared(mine + (8 * kPitch + j) * 4, sums[s + 2], sums[s + 3]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int row = (i * 32 + lane) / kPieces, column = (i * 32 + lane) % kPieces * kVector;
      Real v[kVector];
      load_sums(v, slab + (row * kPitch + column) * 4);
      apply_epilogue<kVector>(v, operands[i]);
      if (is_inside(tile, warp * 16 + row, n + column))
        store_located<YAt, kVector>(y, number_of(tile, warp * 16 + row, n + column), v);
    }
    __syncwarp();
  }
}

/// The sums of the cluster's blocks together: each finishes a share of the rows.
__device__ inline void add_splits(u32 from, int rank, Y* y, const Tile& tile EPILOGUE_PARAMETERS) {
  constexpr int kAcross = kTileN / kVector, kRows = (kTileM + kSplits - 1) / kSplits;
  for (int i = threadIdx.x; i < kRows * kAcross; i += kConsumers + kFetchers) {
    const int row = rank * kRows + i / kAcross, column = i % kAcross * kVector;
    if (row >= kTileM) break;
    Real v[kVector] = {};
#pragma unroll
    for (int s = 0; s < kSplits; ++s) {
      const u32 address = address_in_block(from + (row * kSumPitch + column) * 4, s);
      if constexpr (kVector == 1) {
        float part;
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(part) : "r"(address) : "memory");
        v[0] += part;
      } else {
#pragma unroll
        for (int k = 0; k < kVector; k += 4) {
          float part[4];
          load_block(part, address + k * 4);
#pragma unroll
          for (int q = 0; q < 4; ++q) v[k + q] += part[q];
        }
      }
    }
    if (!is_inside(tile, row, column)) continue;
    const Index at = number_of(tile, row, column);
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, v);
  }
}

__device__ inline void keep_sums(const float (&sums)[kTileN / 2], u32 to) {
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const u32 mine = to + (row * kSumPitch + threadIdx.x % 4 * 2) * 4;
#pragma unroll
  for (int j = 0; j < kTileN; j += 8) {
    store_shared(mine + j * 4, sums[j / 2], sums[j / 2 + 1]);
    store_shared(mine + (8 * kSumPitch + j) * 4, sums[j / 2 + 2], sums[j / 2 + 3]);
  }
}

extern "C" __global__ void __launch_bounds__(kConsumers + kFetchers, kBlocksEach)
    kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  const u32 stages = (shared_address(raw) + 1023) / 1024 * 1024;
  const u32 scratch = stages + kStages * kStageBytes;
  const u32 barriers = scratch + (kSplits > 1 ? 0 : kGroups * 4 * kSlabBytes);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      barrier_create(barriers + i * 16, 1);
      barrier_create(barriers + i * 16 + 8, kShare * kGroups * 4);
    }
    barriers_visible();
  }
  __syncwarp();
  if constexpr (kShare > 1) cluster_barrier();
  else __syncthreads();
  release_next();
  constexpr int kTogether = kSplits * kShare;
  const int rank = kSplits > 1 ? blockIdx.x % kSplits : 0, first = blockIdx.x / kTogether, step = gridDim.x / kTogether;
  const int k_begin = rank * kBlocksK / kSplits, k_end = (rank + 1) * kBlocksK / kSplits;
  if (threadIdx.x >= kConsumers) {
    if constexpr (kMovesRegisters) leave_registers<kFetchingRegisters>();
    if (threadIdx.x == kConsumers) produce(a, b, stages, barriers, first, step, k_begin, k_end);
    if constexpr (kSplits > 1) {
      __syncwarp();
      wait_previous();
    }
  } else {
    if constexpr (kMovesRegisters) take_registers<kComputingRegisters>();
    wait_previous();
    Ring at;
    float sums[kTileN / 2];
    if constexpr (kSplits == 1) {
      for (int t = first; t < kTiles; t += step) {
        const Tile tile = tile_of(t);
        const u32 last = multiply_tile(sums, stages, barriers, at, k_begin, k_end, t == first);
        Operands operands[kItems];
        if (kFetchesAhead) fetch_slab(operands, tile, 0 EPILOGUE_ARGUMENTS);
        complete_tile(last);
        store_tile(sums, operands, scratch, y, tile EPILOGUE_ARGUMENTS);
      }
    } else {
      complete_tile(multiply_tile(sums, stages, barriers, at, k_begin, k_end, true));
      // Other groups may still read the stages.
      barrier_of(1, kConsumers);
      keep_sums(sums, stages);
    }
  }
  if constexpr (kSplits > 1) {
    cluster_barrier();
    add_splits(stages, rank, y, tile_of(first) EPILOGUE_ARGUMENTS);
    cluster_barrier();
  }
  // No block leaves while others write to its memory.
  if constexpr (kShare > 1) {
    __syncwarp();
    cluster_barrier();
  }
}
