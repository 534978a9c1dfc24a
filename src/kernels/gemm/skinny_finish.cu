// Adds up the pieces of k of skinny_rows.cu, in order.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const float* __restrict__ partial EPILOGUE_PARAMETERS) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kM * Index(kN)) return;
  float total = partial[at];
#pragma unroll 8
  for (int split = 1; split < kSplits; ++split) total += partial[Index(split) * (kM * Index(kN)) + at];
  Real v[1] = {Real(total)};
  epilogue<1>(v, at EPILOGUE_ARGUMENTS);
  store_located<YAt, 1>(y, at, v);
}
