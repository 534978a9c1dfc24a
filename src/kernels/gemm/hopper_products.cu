// Products of a stage of gemm/hopper_tiles.cu: rows of A by columns of B, both in shared memory.

__device__ inline void fetch_b(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k) {
#pragma unroll
  for (int i = 0; i < kPanels; ++i)
    fetch_rows<kTileN, kBByColumns>(map, to + i * (kTileN * kRowBytes), barrier, k + i * kPanelK, tile.n,
                                    kBBatched ? tile.batch : 0);
}

/// For the warp group's rows.
__device__ inline void multiply_stage(Sums& sums, u32 stages, u32 stage, int group, int k, bool adds) {
  const u64 a = rows_descriptor<kRowBytes>(stages + stage * kStageBytes + group * (64 * kRowBytes)),
            b = rows_descriptor<kRowBytes>(columns_of(stages, stage, k));
  constexpr int kStepsOfPanel = kRowBytes / 32;
  products_begin();
#pragma unroll
  for (int s = 0; s < 4; ++s) {
    const int panel = s / kStepsOfPanel, step = s % kStepsOfPanel;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      group_product(sums[part], a + panel * (kTileM * kRowBytes / 16) + part * (4 * kRowBytes) + step * (kAByColumns ? 128 : 2),
                    b + panel * (kTileN * kRowBytes / 16) + step * (kBByColumns ? 128 : 2), adds || s > 0);
  }
  products_commit();
}

/// The sums over [k_begin, k_end) where those of kKeptStages at a time are added up outside of the tensor cores, which
/// keep about 14 bits of sums of 8-bit floats.
template <class T>
__device__ inline void multiply_in_parts(T (&sums)[kParts][kTileN / 2], u32 stages, u32 barriers, Ring& at, int group,
                                         int k_begin, int k_end, bool is_last) {
  const bool speaks = threadIdx.x % 32 == 0;
  T kept[kParts][kTileN / 2];
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) sums[part][i] = 0;
  for (int k = k_begin; k < k_end;) {
    const int end = k + kKeptStages < k_end ? k + kKeptStages : k_end;
    u32 last = 0;
    for (int number = 0; k < end; ++k, ++number, at.next()) {
      const u32 full = barriers + at.stage * 16;
      barrier_wait(full, at.phase);
      multiply_stage(kept, stages, at.stage, group, k, number > 0);
      if (number > 0) {
        products_wait<1>();
        if (speaks) barrier_arrive(last);
      }
      last = full + 8;
    }
    if (k == k_end) pass_turn(is_last);
    products_wait<0>();
    fence_sums(kept);
    if (speaks) barrier_arrive(last);
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int i = 0; i < kTileN / 2; ++i) sums[part][i] += kept[part][i];
  }
}

template <bool kAdds, class T>
__device__ inline void multiply_all(T& sums, u32 stages, u32 barriers, Ring& at, int group, int k_begin, int k_end,
                                    bool is_last) {
  if constexpr (kKeptStages > 0) multiply_in_parts(sums, stages, barriers, at, group, k_begin, k_end, is_last);
  else multiply_tile<kAdds>(sums, stages, barriers, at, group, k_begin, k_end, is_last);
}
