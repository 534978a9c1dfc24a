// Interpolation: every element of the result is a weighted sum over the taps of its place along each resized axis.
// `firsts` holds, for each resized axis, where the taps of its places begin in `taps`. sum_taps is the planner's.

struct Tap {
  int offset;  // In elements of x.
  float weight;
};

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const int* __restrict__ firsts, const Tap* __restrict__ taps, Y* __restrict__ y) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kVector;
  if (at >= Index(kCount)) return;
  Real sum[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum[i] = 0;
  sum_taps(x, firsts, taps, at, sum);
  store_located<YAt, kVector>(y, at, sum);
}
