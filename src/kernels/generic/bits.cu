// The same bits as another type: elements of one size.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(Word* __restrict__ y, const Word* __restrict__ x) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at < kCount) y[place_of_number<YAt>(at)] = x[place_of_number<In0>(at)];
}
