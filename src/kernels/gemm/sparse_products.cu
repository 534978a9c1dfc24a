// Products of a stage of gemm/hopper_tiles.cu with constant weights of which two of each four numbers along k are 0: sparse
// tensor cores skip those. Their sparse operand is the left one, so weights are its rows, and rows of A its columns: a warp has
// kOwn columns of all the tile's rows. The planner packs weights by stages and blocks of 64 columns, kSparseBytes each: the
// numbers, swizzled, and for each thread where those of two steps of 32 along k have been.

enum : int { kSparseNumbers = 64 * 64 };  // Bytes.

struct SparseWeights {
  const char* blocks;
};
__device__ inline void fetch_map(const SparseWeights&) {}
__device__ inline void fetch_b(const SparseWeights& from, u32 to, u32 barrier, const Tile& tile, int k) {
  constexpr int kBlocks = (kN + 64 * kParts - 1) / (64 * kParts) * kParts;
  const char* const first = from.blocks + (u64(k / kTileK) * kBlocks + tile.n / 64) * kSparseBytes;
  fetch_bytes(to, first, kBytesB, barrier);
}

__device__ inline void multiply_stage(Sums& sums, u32 stages, u32 stage, int group, int, bool adds) {
  const u32 tile = stages + stage * kStageBytes;
  const u32 own = tile + kBytesA + group * (kParts * kSparseBytes);
  const u64 rows = tile_descriptor(tile, 8192), weights = rows_descriptor<64>(own);
  u32 where[kParts];
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(where[part]) : "r"(own + part * kSparseBytes + kSparseNumbers + threadIdx.x % 128 * 4) : "memory");
  products_begin();
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    sparse_product<0>(sums[part], weights + part * (kSparseBytes / 16), rows, where[part], adds);
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    sparse_product<1>(sums[part], weights + part * (kSparseBytes / 16) + 2, rows + 4, where[part], 1);
  products_commit();
}

/// A warp's sums of 16 rows of the tile, in the places of gemm/hopper_store.cu. A thread has two rows of a pair of columns of
/// each 16; it gives its neighbour's row away and gets its own row's other pair.
__device__ inline void take_slice(Accumulator (&own)[kOwn / 2], const Sums& sums, int slice) {
  const bool second = threadIdx.x % 32 / 16 != 0;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int at = (slice * 2 + half) * 4 + c * 2;
        const float mine = second ? sums[part][at + 1] : sums[part][at];
        const float other = __shfl_xor_sync(0xffffffffu, second ? sums[part][at] : sums[part][at + 1], 16);
        own[part * 8 + half * 2 + c] = second ? other : mine;
        own[part * 8 + 4 + half * 2 + c] = second ? mine : other;
      }
}
