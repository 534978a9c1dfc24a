// How blocks of gemm/hopper.cu take tiles, and the ring of stages between the thread that fetches and those that multiply.

// A tile is kParts times 64 rows of each of its groups: of all of them, or of the one whose turn it is; with sparse weights
// (gemm/sparse_products.cu) as many columns. A stage has 128 bytes of k, in rows as long as that or in panels of shorter ones:
// of A and B, or (kHolds) of A alone, while B is held in shared memory for all of the tiles in its columns.
#ifdef SPARSE_WEIGHTS
enum : int { kTileN = kGroups / kTurns * kParts * 64, kColumnBytes = kSparseBytes / 64, kSums = kTileM / 2 };
#else
enum : int { kTileM = kGroups / kTurns * kParts * 64, kColumnBytes = 128, kSums = kTileN / 2 };
#endif
enum : int { kTileK = 128 / kOperandBytes, kConsumers = kGroups * 128 };
enum : int { kPanels = 128 / kRowBytes, kPanelK = kTileK / kPanels };
enum : int { kBytesA = kTileM * 128, kBytesB = kTileN * kColumnBytes, kFetchedBytes = kBytesA + kBytesB };
enum : int { kStageBytes = (kBytesA + (kHolds ? 0 : kBytesB) + 1023) / 1024 * 1024 };
typedef Accumulator Sums[kParts][kSums];  // Of a thread.

// Of 8 by 8 results that a warp holds by pairs of columns: the row and the pair of a lane, and how far the lanes of a row's
// pairs lie apart.
#ifdef SPARSE_WEIGHTS
enum : int { kPairStep = 4 };
__device__ inline int row_lane() { return threadIdx.x % 4 * 2 + threadIdx.x % 32 / 16; }
__device__ inline int pair_lane() { return threadIdx.x / 4 % 4; }
#else
enum : int { kPairStep = 1 };
__device__ inline int row_lane() { return threadIdx.x % 32 / 4; }
__device__ inline int pair_lane() { return threadIdx.x % 4; }
#endif
enum : int { kBlocksK = (kK + kTileK - 1) / kTileK, kHeldBytes = kHolds ? kBlocksK * kBytesB : 0 };
enum : int { kTilesN = (kN + kTileN - 1) / kTileN };
#define kTilesM ((kM + kTileM - 1) / kTileM)
#define kTiles (kTilesM * kTilesN * kBatches)
// Columns that a block finishes, or, with sparse weights, a warp.
#ifdef SPARSE_WEIGHTS
enum : int { kOwn = kParts * 16 };
#else
enum : int { kOwn = kTileN / kSplits };
#endif
static_assert(kOwn % 16 == 0, "whole slabs");
static_assert(!kBByColumns || kTileN % 64 == 0, "whole boxes");
static_assert((kOperandBytes == 2 && kPanels == 1) || (!kAByColumns && !kBByColumns), "k is contiguous");

// A stage that is free again says that the columns held for its k are, too.
static_assert(!kHolds || (kSplits == 1 && kStages <= kBlocksK), "no stage is ahead of the columns that are held");

struct Tile {
  int m, n, batch;
};
__device__ inline Tile tile_of(int number WALK_PARAMETERS) {
  const int place = walked(number, kTiles WALK_ARGUMENTS);
  const int others = DIVIDED_BY_TILES_M(place);
  return {(place - others * kTilesM) * kTileM, others % kTilesN * kTileN, others / kTilesN};
}

/// The tiles of a block: every so many of all, or (kHolds) some that follow each other down the columns.
struct Tiles {
  int first, step, end;
};
__device__ inline Tiles own_tiles() {
  if constexpr (kHolds) {
    const int each = (kTiles + gridDim.x - 1) / gridDim.x, first = blockIdx.x * each;
    return {first, 1, min(first + each, kTiles)};
  } else {
    return {int(blockIdx.x) / kSplits, int(gridDim.x) / kSplits, kTiles};
  }
}

/// kRows rows (of B: columns) of kTileK, in boxes of 64 where rows are contiguous.
template <int kRows, bool kByColumns>
__device__ inline void fetch_rows(const TensorMap& map, u32 to, u32 barrier, int k, int row, int batch) {
  if constexpr (kByColumns) {
#pragma unroll
    for (int i = 0; i < kRows; i += 64) fetch_box(to + i * 128, map, barrier, row + i, k, batch);
  } else {
    fetch_box(to, map, barrier, k, row, batch);
  }
}
/// Of gemm/hopper_rows.cu or conv/hopper_pixels.cu: rows of kPanelK.
__device__ inline void fetch_a(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k, CachePolicy policy);
__device__ inline void fetch_a_stage(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k, CachePolicy policy) {
#pragma unroll
  for (int i = 0; i < kPanels; ++i) fetch_a(map, to + i * (kTileM * kRowBytes), barrier, tile, k + i * kPanelK, policy);
}
/// The products of a stage, block k of them, for the warp group of that number (0 where groups take turns), which all of
/// the warp are known to have: gemm/hopper_products.cu or gemm/sparse_products.cu, which also fetch B.
__device__ inline void multiply_stage(Sums& sums, u32 stages, u32 stage, int group, int k, bool adds);

/// Where the columns of a block of k lie.
__device__ inline u32 columns_of(u32 stages, u32 stage, int k) {
  return kHolds ? stages + kStages * kStageBytes + k * kBytesB : stages + stage * kStageBytes + kBytesA;
}

/// Place in the ring of stages. Barriers "full" lie at 16 bytes a stage, "empty" 8 bytes behind.
struct Ring {
  u32 stage = 0, phase = 0;
  __device__ void next() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
  __device__ void skip(int count) {
    stage += count;
    phase ^= stage / kStages & 1;
    stage %= kStages;
  }
};

template <class B>
__device__ inline void produce(const TensorMap& a, const B& b, u32 stages, u32 barriers, const Tiles& tiles,
                               int k_begin, int k_end WALK_PARAMETERS) {
  fetch_map(a);
  fetch_map(b);
  // Constant weights are there before the kernel ahead has ended.
  const int early = !kBConstant ? 0 : (k_end - k_begin < kStages ? k_end - k_begin : kStages);
  // Loops of fetching are no faster where they are unrolled, and take longer to compile.
#pragma unroll 1
  for (int i = 0; i < early; ++i) {
    barrier_expect(barriers + i * 16, kFetchedBytes);
    fetch_b(b, columns_of(stages, i, i), barriers + i * 16, tile_of(tiles.first WALK_ARGUMENTS), (k_begin + i) * kTileK);
  }
  wait_previous();
  const CachePolicy policy = POLICY_OF(kImage, IMAGE_ALONE);
  Ring at;
  int number = 0;
  for (int t = tiles.first; t < tiles.end; t += tiles.step) {
    const Tile tile = tile_of(t WALK_ARGUMENTS);
    const bool begins_columns = kGoesBack && WALK & 1 ? tile.m + kTileM >= kM : tile.m == 0;
    const bool has_columns = kHolds && t > tiles.first && !begins_columns;
#pragma unroll 1
    for (int k = k_begin; k < k_end; ++k, ++number, at.next()) {
      const u32 full = barriers + at.stage * 16, to = stages + at.stage * kStageBytes;
      if (number >= early) {
        barrier_wait(full + 8, at.phase ^ 1);
        barrier_expect(full, has_columns ? kBytesA : kFetchedBytes);
        if (!has_columns) fetch_b(b, columns_of(stages, at.stage, k), full, tile, k * kTileK);
      }
      fetch_a_stage(a, to, full, tile, k * kTileK, policy);
    }
  }
}

// Groups that take tiles in turn multiply one after the other: the results of one leave while another multiplies.
__device__ inline void await_turn(bool is_first) {
  if (kTurns > 1 && !is_first) barrier_of(1 + threadIdx.x / 128, 256);
}
__device__ inline void pass_turn(bool is_last) {
  if (kTurns > 1 && !is_last) barrier_arrive_of(1 + (threadIdx.x / 128 + 1) % kTurns, 256);
}

/// Nothing that is computed from the sums comes above it.
template <class T>
__device__ inline void fence_sums(T (&sums)[kParts][kSums]) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int i = 0; i < kSums; ++i) asm volatile("" : "+f"(sums[part][i])::"memory");
}
/// The sums over [k_begin, k_end) of the warp group's rows, or those added to the current ones.
template <bool kAdds>
__device__ inline void multiply_tile(Sums& sums, u32 stages, u32 barriers, Ring& at, int group, int k_begin, int k_end,
                                     bool is_last) {
  static_assert(kSplits <= kBlocksK);
  const bool speaks = threadIdx.x % 32 == 0;
  u32 last = 0;
  int k = k_begin;
  const auto multiply = [&] {
    const u32 full = barriers + at.stage * 16;
    barrier_wait(full, at.phase);
    multiply_stage(sums, stages, at.stage, group, k, kAdds || k > k_begin);
    if (k > k_begin) {
      products_wait<1>();
      if (speaks) barrier_arrive(last);
    }
    last = full + 8;
    ++k;
    at.next();
  };
  // Never empty, and its first turn in place: where sums might leave without a product, or come from another copy of
  // the loop, ptxas waits for each product by itself.
  if constexpr (kSplits > 1) {
#pragma unroll 1
    do multiply();
    while (k < k_end);
  } else {
    do multiply();
    while (k < k_end);
  }
  pass_turn(is_last);
  products_wait<0>();
  if (speaks) barrier_arrive(last);
}
