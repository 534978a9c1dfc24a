// The first slice that each equals.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(i64* __restrict__ leaders, const X0* __restrict__ x) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= kSlices) return;
  i64 leader = i;
  for (i64 j = 0; j < i; ++j)
    if (compare_slices(x, j, i) == 0) {
      leader = j;
      break;
    }
  leaders[i] = leader;
}
