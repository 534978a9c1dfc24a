// Updates that are combined, by the places that they go to: a block looks for those of its kSlotsEach places among all of
// a line's, keeps them in their order, and each warp combines those of one place after the other, so that results never
// depend on the order of threads. Lines that share their indices, kWidth at a time, are one block's. The planner has made
//   scatter_slot(line, step, indices): which place of its line update `step` goes to, -1 for nowhere,
//   slot_place(line, slot): where that is in the result, and
//   update_place(line, step): where the update comes from.

enum : int { kWarps = kBlock / 32, kEach = (kWidth + 31) / 32, kAhead = 4, kKept = 4 * kBlock };
enum : Index { kParts = (Index(kSlots) + kSlotsEach - 1) / kSlotsEach };

struct Kept {
  u32 step[kKept];
  u16 slot[kKept];
  int of_warp[kWarps];
};

/// Combines the kept values with the contents of the places.
__device__ inline void combine(const Kept& kept, int count, Index first, Index slot0, const X* updates, X* y) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto is_own = [&](int i) { return i * 32 + lane < kWidth && first + i * 32 + lane < Index(kLines); };
  for (int slot = warp; slot < kSlotsEach && slot0 + slot < Index(kSlots); slot += kWarps) {
    decltype(widen(X())) values[kEach];
    bool is_first = true;
    for (int start = 0; start < count; start += 32) {
      const int own = start + lane;
      u32 found = __ballot_sync(0xffffffffu, own < count && kept.slot[own < count ? own : 0] == slot);
      for (; found != 0; found &= found - 1) {
        const Index step = kept.step[start + __ffs(found) - 1];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          if (!is_own(i)) continue;
          const Index line = first + i * 32 + lane;
          if (is_first) values[i] = widen(y[slot_place(line, slot0 + slot)]);
          values[i] = combined(values[i], widen(updates[update_place(line, step)]));
        }
        is_first = false;
      }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (!is_first && is_own(i)) y[slot_place(first + i * 32 + lane, slot0 + slot)] = narrow<X>(values[i]);
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ updates, const Place* __restrict__ indices, X* y) {
  begin_kernel();
  __shared__ Kept kept;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Index slot0 = Index(blockIdx.x) % kParts * kSlotsEach, first = Index(blockIdx.x) / kParts * kWidth;
  int count = 0;
  for (Index start = 0; start < Index(kSteps); start += kBlock * kAhead) {
    i64 slots[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const Index step = start + i * kBlock + threadIdx.x;
      slots[i] = step < Index(kSteps) ? scatter_slot(first, step, indices) - i64(slot0) : -1;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const bool is_kept = slots[i] >= 0 && slots[i] < kSlotsEach;
      const u32 found = __ballot_sync(0xffffffffu, is_kept);
      if (lane == 0) kept.of_warp[warp] = __popc(found);
      __syncthreads();
      int at = count + __popc(found & ((u32(1) << lane) - 1));
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        if (w < warp) at += kept.of_warp[w];
        count += kept.of_warp[w];
      }
      if (is_kept) kept.step[at] = u32(start + i * kBlock + threadIdx.x), kept.slot[at] = u16(slots[i]);
      __syncthreads();
      if (count + kBlock > kKept) {
        combine(kept, count, first, slot0, updates, y);
        count = 0;
        __syncthreads();
      }
    }
  }
  combine(kept, count, first, slot0, updates, y);
}
