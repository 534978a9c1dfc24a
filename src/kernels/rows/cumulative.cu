// Running sums or products along the middle axis of [kOuter, kLength, kInner]: a warp takes a line when lines are
// contiguous, else a thread does.

__device__ inline Accumulator combined(Accumulator a, Accumulator b) { return kProduct ? a * b : a + b; }

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const X* __restrict__ x, X* __restrict__ y) {
  begin_kernel();
  constexpr Accumulator kNeutral = kProduct ? 1 : 0;
  Accumulator total = kNeutral;
  if constexpr (kInner == 1) {
    // There may be more threads than an Index counts.
    const Index line = Index(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (line >= Index(kOuter)) return;
    for (i64 first = 0; first < kLength; first += 32) {
      const i64 step = first + lane, place = kReverse ? kLength - 1 - step : step;
      const bool inside = step < kLength;
      const Index at = line * Index(kLength) + Index(inside ? place : 0);
      const Accumulator own = inside ? Accumulator(widen(x[at])) : kNeutral;
      Accumulator scan = own;
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        const Accumulator other = __shfl_up_sync(0xffffffffu, scan, offset);
        if (lane >= offset) scan = combined(other, scan);
      }
      const Accumulator before = __shfl_up_sync(0xffffffffu, scan, 1);
      const Accumulator exclusive = lane == 0 ? total : combined(total, before);
      if (inside) y[at] = narrow<X>(kExclusive ? exclusive : combined(total, scan));
      total = combined(total, __shfl_sync(0xffffffffu, scan, 31));
    }
  } else {
    const Index thread = Index(blockIdx.x) * kBlock + threadIdx.x;
    if (thread >= Index(kOuter) * Index(kInner)) return;
    const Index base = thread / Index(kInner) * (Index(kLength) * Index(kInner)) + thread % Index(kInner);
    for (i64 step = 0; step < kLength; ++step) {
      const Index at = base + Index(kReverse ? kLength - 1 - step : step) * Index(kInner);
      const Accumulator own = Accumulator(widen(x[at]));
      if (kExclusive) y[at] = narrow<X>(total);
      total = combined(total, own);
      if (!kExclusive) y[at] = narrow<X>(total);
    }
  }
}
