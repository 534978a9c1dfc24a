// Sums of all numbers before each, and of all at the end: by one block.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(i64* __restrict__ numbers, i64* __restrict__ total) {
  begin_kernel();
  __shared__ i64 shared[kBlock];
  i64 before = 0;
  for (i64 first = 0; first < kCount; first += kBlock) {
    const i64 at = first + threadIdx.x;
    const i64 own = at < kCount ? numbers[at] : 0;
    shared[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < kBlock; step *= 2) {
      const i64 other = int(threadIdx.x) >= step ? shared[threadIdx.x - step] : 0;
      __syncthreads();
      shared[threadIdx.x] += other;
      __syncthreads();
    }
    if (at < kCount) numbers[at] = before + shared[threadIdx.x] - own;
    before += shared[kBlock - 1];
    __syncthreads();
  }
  if (threadIdx.x == 0) *total = before;
}
