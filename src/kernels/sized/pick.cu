// The chosen slices, one after the other.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(X0* __restrict__ y, const X0* __restrict__ x, const i64* __restrict__ chosen, i64 count) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kOuter * count * kRun) return;
  const i64 slice = chosen[at / kRun % count];
  y[at] = x[place_of_number<In0>((at / kRun / count * kSlices + slice) * kRun + at % kRun)];
}
