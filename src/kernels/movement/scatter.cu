// Updates written into a copy of x. Updates that may meet at one place are made by one thread, in order, where they are
// combined; else each by its own. The planner has made
//   scatter_place(line, step, indices): where update `step` of a line goes, -1 for nowhere, and
//   update_place(line, step): where it comes from.

template <class T>
__device__ inline T combined(T a, T b) {
  if constexpr (kReduction == 1) return a + b;
  else if constexpr (kReduction == 2) return a * b;
  else if constexpr (kReduction == 3) return a > b || a != a ? a : b;
  else return a < b || a != a ? a : b;
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ updates, const Place* __restrict__ indices, X* __restrict__ y) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if constexpr (kReduction == 0) {
    if (at >= Index(kLines) * Index(kSteps)) return;
    const Index line = at / Index(kSteps), step = at % Index(kSteps);
    const i64 to = scatter_place(line, step, indices);
    if (to >= 0) y[to] = updates[update_place(line, step)];
  } else {
    if (at >= Index(kLines)) return;
    for (Index step = 0; step < Index(kSteps); ++step) {
      const i64 to = scatter_place(at, step, indices);
      if (to >= 0) y[to] = narrow<X>(combined(widen(y[to]), widen(updates[update_place(at, step)])));
    }
  }
}
