// Attention of 16-bit floats on Hopper where shared memory has room for all keys and values of a place of the grid, in
// kSlots slots: one thread has TMA fetch them at once, kGroups warp groups of 64 queries each take them.
// `consume` is that of hopper_free.cu or of hopper_ahead.cu. Blocks that stay (kStays) take a place from one slot while the
// other one is filled.

enum : int { kSlots = kStays ? 2 : 1, kSlotBytes = kFrontBytes + kStages * kStageBytes };

struct Slot {
  u32 front;
  Barriers barriers;
  __device__ u32 ring() const { return front + kFrontBytes; }
};

/// The first keys come first, then the last queries: with a causal mask they have the most to do.
__device__ inline void fetch_place(const TensorMap& q, const TensorMap& k, const TensorMap& v, const Slot& slot,
                                   const Place& at) {
  const int shared = at.head / (kHeads / kKvHeads);
  const auto fetch_all_queries = [&] {
    for (int group = kGroups - 1; group >= 0; --group) fetch_group_queries(q, slot.front, slot.barriers, group, at);
  };
  if (at.tiles == 0) fetch_all_queries();
  for (int t = 0; t < at.tiles; ++t) {
    const u32 stage = slot.ring() + t * kStageBytes;
    fetch_keys(k, stage, slot.barriers.keys(t), t, shared, at.batch);
    if (t == 0) fetch_all_queries();
    fetch_values(v, stage, slot.barriers.values(t), t, shared, at.batch);
  }
}

__device__ inline void create_barriers(const Slot& slot) {
  for (int i = 0; i < kStages; ++i) {
    barrier_create(slot.barriers.keys(i), 1);
    barrier_create(slot.barriers.values(i), 1);
  }
  for (int i = 0; i < kGroups; ++i) barrier_create(slot.barriers.group_queries(i), 1);
}

extern "C" __global__ void __launch_bounds__(kConsumers, kBlocksEach)
    kernel(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v,
           const Mask* __restrict__ mask, Y* __restrict__ out) {
  extern __shared__ unsigned char raw[];
  const u32 front = (shared_address(raw) + 1023) / 1024 * 1024, behind = front + kSlots * kSlotBytes;
  const auto slot_of = [&](int i) { return Slot{front + i * kSlotBytes, {behind + i * kBarrierBytes}}; };
  unsigned char* rest = raw + (behind - shared_address(raw)) + kSlots * kBarrierBytes;
  u32* left = reinterpret_cast<u32*>(rest);  // How often groups were done with a slot.
  float* staged = reinterpret_cast<float*>(rest + 8);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSlots; ++i) {
      create_barriers(slot_of(i));
      left[i] = 0;
    }
    barriers_visible();
  }
  if (threadIdx.x == kConsumers - 1) {
    fetch_map(q);
    fetch_map(k);
    fetch_map(v);
  }
  __syncthreads();
  begin_kernel();
  const auto begin_fetch = [&](int number, int slot) {
    const int i = blockIdx.x + number * gridDim.x;
    if constexpr (!kStays) fetch_place(q, k, v, slot_of(0), place_of(blockIdx.x, blockIdx.y, blockIdx.z));
    else if (i < kPlaces) fetch_place(q, k, v, slot_of(slot), place_number(i));
  };

  if (threadIdx.x == 0)
    for (int i = 0; i < kSlots; ++i) begin_fetch(i, i);
  Progress progress;
  int number = 0;
  each_place([&](const Place& at, bool is_last) {
    const Slot slot = slot_of(number % kSlots);
    const Mask* from = mask + at.batch * Index(kMaskBatch) + at.head * Index(kMaskHead);
    if constexpr (kStagedMask) {
      stage_mask(staged, from, at.tiles);
      barrier_of(5, kConsumers);
    }
    progress.queries = number / kSlots & 1;
    consume(q, slot.front, slot.ring(), slot.barriers, progress, staged, from,
            out + at.batch * Index(kOutBatch) + at.head * Index(kOutHead), at, is_last);
    if constexpr (kStays) {
      // The group that is done last has the slot filled again.
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      barrier_of(1 + threadIdx.x / 128, 128);
      if (threadIdx.x % 128 == 0) {
        __threadfence_block();
        if (atomicAdd(left + number % kSlots, 1u) % kGroups == kGroups - 1) {
          __threadfence_block();
          begin_fetch(number + kSlots, number % kSlots);
        }
      }
    }
    ++number;
  });
}
