// How many flags of each stretch of kStretch are set.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(i64* __restrict__ counts, FLAG_PARAMETERS) {
  begin_kernel();
  const i64 first = i64(blockIdx.x) * kStretch;
  int count = 0;
  for (i64 i = first + threadIdx.x; i < first + kStretch && i < kCount; i += kBlock) count += flag(i, FLAG_ARGUMENTS);
  count = combine_group<kBlock>(count, Sum());
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}
