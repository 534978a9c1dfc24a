// Updates written into a copy of x. Updates that may meet at one place are made by one thread, in order, where they are few,
// or combined and lines many; else each by its own, and the last one stays. The planner has made
//   scatter_slot(line, step, indices): which place of its line update `step` goes to, -1 for nowhere,
//   slot_place(line, slot): where that is in the result, and
//   update_place(line, step): where the update comes from.

__device__ inline void update(X* y, X value) {
  if constexpr (kReduction == 0) *y = value;
  else *y = narrow<X>(combined(widen(*y), widen(value)));
}

__device__ inline i64 scatter_place(Index line, Index step, const Place* indices) {
  const i64 slot = scatter_slot(line, step, indices);
  return slot < 0 ? -1 : slot_place(line, slot);
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ updates, const Place* __restrict__ indices, X* y, u32* last, i64 pass) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if constexpr (kInOrder) {
    if (at >= Index(kLines)) return;
    for (Index step = 0; step < Index(kSteps); ++step) {
      const i64 to = scatter_place(at, step, indices);
      if (to >= 0) update(y + to, updates[update_place(at, step)]);
    }
  } else {
    // The result for the first line of a slice holds for all of them.
    const Index lines = pass == kWrite ? Index(kLines) : Index(kLines / kSlice);
    if (at >= lines * Index(kSteps)) return;
    const Index line = kLinesFirst ? at % lines : at / Index(kSteps);
    const Index step = kLinesFirst ? at / lines : at % Index(kSteps);
    const i64 to = scatter_place(line, step, indices);
    if (to < 0) return;
    if (kDistinct || is_last_update(last, to / kSlice, u32(step) + 1, pass)) y[to] = updates[update_place(line, step)];
  }
}
