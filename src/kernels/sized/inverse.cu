// The number of the distinct slice that each one equals.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(i64* __restrict__ inverse, const i64* __restrict__ ranks, const i64* __restrict__ leaders) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (i < kSlices) inverse[i] = ranks[leaders[i]];
}
