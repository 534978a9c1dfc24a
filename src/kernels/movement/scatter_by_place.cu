// Updates that are combined, by the places that they go to: a warp looks for those of one place among all of a line's, 32
// at a time, and combines what it finds in their order, so that results never depend on that of threads. Lines that share
// their indices, kWidth at a time, are one warp's. The planner has made, besides what movement/scatter.cu says,
//   slot_place(line, slot): the place of a line that has this number.

constexpr int kEach = (kWidth + 31) / 32, kAhead = 4;
constexpr Index kGroups = (Index(kLines) + kWidth - 1) / kWidth;

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ updates, const Place* __restrict__ indices, X* y) {
  begin_kernel();
  const Index task = (Index(blockIdx.x) * kBlock + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (task >= Index(kSlots) * kGroups) return;
  const Index slot = task % Index(kSlots), first = task / Index(kSlots) * kWidth;
  const i64 place = slot_place(first, slot);
  const auto is_own = [&](int i) { return i * 32 + lane < kWidth && first + i * 32 + lane < Index(kLines); };
  decltype(widen(X())) values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (is_own(i)) values[i] = widen(y[slot_place(first + i * 32 + lane, slot)]);
  for (Index start = 0; start < Index(kSteps); start += 32 * kAhead) {
    u32 found[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      const Index step = start + j * 32 + lane;
      found[j] = __ballot_sync(0xffffffffu, step < Index(kSteps) && scatter_place(first, step, indices) == place);
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
      for (; found[j] != 0; found[j] &= found[j] - 1) {
        const Index step = start + j * 32 + (__ffs(found[j]) - 1);
#pragma unroll
        for (int i = 0; i < kEach; ++i)
          if (is_own(i)) values[i] = combined(values[i], widen(updates[update_place(first + i * 32 + lane, step)]));
      }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (is_own(i)) y[slot_place(first + i * 32 + lane, slot)] = narrow<X>(values[i]);
}
