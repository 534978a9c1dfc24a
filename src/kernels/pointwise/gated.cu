// Of pairs of elements that lie side by side the gate of the first times the second: kEach results a thread.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const X* __restrict__ x, Y* __restrict__ y) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kEach;
  if (at >= Index(kCount)) return;
  Real pairs[2][kEach], results[kEach];
  load_wide<kEach>(x + 2 * at, pairs[0]);
  load_wide<kEach>(x + 2 * at + kEach, pairs[1]);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int first = 2 * i;
    results[i] = GATE(pairs[first / kEach][first % kEach]) * pairs[(first + 1) / kEach][(first + 1) % kEach];
  }
  store_located<YAt, kEach>(y, at, results);
}
