// Matrix products of 16-bit floats on Hopper: one thread has the copy engine fetch tiles of A and B, kGroups warp groups
// of 64 rows each multiply them, kStages tiles deep. Where results are few, kSplits blocks of a cluster share k and add
// what they have in a fixed order.

constexpr int kTileM = kGroups * 64, kTileK = 64, kConsumers = kGroups * 128;
constexpr int kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2, kStageBytes = kBytesA + kBytesB;
constexpr int kBlocksK = (kK + kTileK - 1) / kTileK;
constexpr int kTilesM = (kM + kTileM - 1) / kTileM, kTilesN = (kN + kTileN - 1) / kTileN;
constexpr int kTiles = kTilesM * kTilesN * kBatches;
// Columns that a warp turns from the matrix units' order into rows at a time, and floats from row to row.
constexpr int kSlab = 32, kPitch = kSlab + 8, kSlabBytes = 16 * kPitch * 4;
constexpr int kSumPitch = kTileN + 4;
static_assert(kTileN % kSlab == 0, "whole slabs");
static_assert(!kBByColumns || kTileN % 64 == 0, "whole boxes");

struct Tile {
  int m, n, batch;
};
__device__ inline Tile tile_of(int number) {
  return {number % kTilesM * kTileM, number / kTilesM % kTilesN * kTileN, number / (kTilesM * kTilesN)};
}

__device__ inline void fetch_a(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k) {
  const int batch = kABatched ? tile.batch : 0;
  if constexpr (kAByColumns) {
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

/// Sums over [k_begin, k_end) of the warp group's rows.
__device__ inline void multiply_tile(float (&sums)[kTileN / 2], u32 stages, u32 barriers, Ring& at, int k_begin, int k_end) {
  const int group = threadIdx.x / 128;
  const bool speaks = threadIdx.x % 32 == 0;
  u32 last = 0;
  for (int k = k_begin; k < k_end; ++k, at.next()) {
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
      if (speaks) barrier_arrive(last);
    }
    last = full + 8;
  }
  products_wait<0>();
  if (speaks) barrier_arrive(last);
}

/// kVector results behind each other, from (m, n) on.
__device__ inline void finish(Real (&v)[kVector], Y* y, const Tile& tile, int row, int column EPILOGUE_PARAMETERS) {
  const int m = tile.m + row, n = tile.n + column;
  if (m >= kM || n >= kN) return;
  const Index at = (Index(tile.batch) * kM + m) * Index(kN) + n;
  epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
  store_located<YAt, kVector>(y, at, v);
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

/// Each warp's 16 rows, a slab of columns at a time, through its part of shared memory.
__device__ inline void store_tile(const float (&sums)[kTileN / 2], u32 scratch, Y* y, const Tile& tile EPILOGUE_PARAMETERS) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32 slab = scratch + warp * kSlabBytes, mine = slab + (lane / 4 * kPitch + lane % 4 * 2) * 4;
#pragma unroll
  for (int n = 0; n < kTileN; n += kSlab) {
#pragma unroll
    for (int j = 0; j < kSlab; j += 8) {
      const int s = (n + j) / 2;
      store_shared(mine + j * 4, sums[s], sums[s + 1]);
      store_shared(mine + (8 * kPitch + j) * 4, sums[s + 2], sums[s + 3]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16 * kSlab / kVector; i += 32) {
      const int row = (i + lane) / (kSlab / kVector), column = (i + lane) % (kSlab / kVector) * kVector;
      Real v[kVector];
      load_sums(v, slab + (row * kPitch + column) * 4);
      finish(v, y, tile, warp * 16 + row, n + column EPILOGUE_ARGUMENTS);
    }
    __syncwarp();
  }
}

/// The sums of the cluster's blocks together: each finishes a share of the rows.
__device__ inline void add_splits(u32 from, int rank, Y* y, const Tile& tile EPILOGUE_PARAMETERS) {
  constexpr int kPieces = kTileN / kVector, kRows = (kTileM + kSplits - 1) / kSplits;
  for (int i = threadIdx.x; i < kRows * kPieces; i += kConsumers + kFetchers) {
    const int row = rank * kRows + i / kPieces, column = i % kPieces * kVector;
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
    finish(v, y, tile, row, column EPILOGUE_ARGUMENTS);
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
      barrier_create(barriers + i * 16 + 8, kGroups * 4);
    }
    barriers_visible();
  }
  __syncthreads();
  const int rank = kSplits > 1 ? blockIdx.x % kSplits : 0, first = blockIdx.x / kSplits, step = gridDim.x / kSplits;
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
        multiply_tile(sums, stages, barriers, at, k_begin, k_end);
        store_tile(sums, scratch, y, tile_of(t) EPILOGUE_ARGUMENTS);
      }
    } else {
      multiply_tile(sums, stages, barriers, at, k_begin, k_end);
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
}
