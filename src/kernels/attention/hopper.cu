// Attention of 16-bit floats on Hopper: one thread has TMA fetch keys and values, kGroups warp groups of 64
// queries each multiply them, with a running maximum and sum; scores and weights never leave registers. `begin_turns` and
// `consume` are those of hopper_free.cu or of hopper_turns.cu.

extern "C" __global__ void __launch_bounds__(kConsumers + kFetchers, kBlocksEach)
    kernel(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v,
           const Mask* __restrict__ mask, Y* __restrict__ out) {
  extern __shared__ unsigned char raw[];
  const u32 front = (shared_address(raw) + 1023) / 1024 * 1024, ring = front + kFrontBytes;
  const Barriers barriers{ring + kStages * kStageBytes};
  float* staged = reinterpret_cast<float*>(raw + (barriers.base - shared_address(raw)) + kBarrierBytes);
  if (threadIdx.x == 0) {
    barrier_create(barriers.queries(), 1);
    for (int i = 0; i < kStages; ++i) {
      barrier_create(barriers.keys(i), 1);
      barrier_create(barriers.values(i), 1);
      if constexpr (!kTakesTurns) continue;
      barrier_create(barriers.keys(i) + 8, kGroups * 4);
      barrier_create(barriers.values(i) + 8, kGroups * 4);
    }
    if constexpr (kStays)
      for (int i = 0; i < kGroups; ++i) barrier_create(barriers.group_queries(i), 1);
    barriers_visible();
  }
  if (threadIdx.x == kConsumers) {
    fetch_map(q);
    fetch_map(k);
    fetch_map(v);
  }
  __syncthreads();
  begin_kernel();
  if (threadIdx.x >= kConsumers) {
    if constexpr (kMovesRegisters) leave_registers<kFetchingRegisters>();
    if (threadIdx.x != kConsumers) return;
    Stage to{0, 1};
    each_place([&](const Place& at, bool) {
      if (!kStays) fetch_queries(q, front, barriers, at);
      fetch_keys_and_values(k, v, ring, barriers, to, at);
    });
  } else {
    if constexpr (kMovesRegisters) take_registers<kComputingRegisters>();
    begin_turns(threadIdx.x / 128);
    Progress progress;
    each_place([&](const Place& at, bool is_last) {
      const Mask* from = mask + at.batch * Index(kMaskBatch) + at.head * Index(kMaskHead);
      if constexpr (kStagedMask) {
        stage_mask(staged, from, at.tiles);
        barrier_of(5, kConsumers);
      }
      consume(q, front, ring, barriers, progress, staged, from,
              out + at.batch * Index(kOutBatch) + at.head * Index(kOutHead), at, is_last);
    });
  }
}
