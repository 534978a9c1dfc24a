// Adds up the states of the pieces of a reduction, in order.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const State* __restrict__ partial EPILOGUE_PARAMETERS) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= Index(kOutputs)) return;
  State state = partial[at];
#pragma unroll 8
  for (int split = 1; split < kSplits; ++split) state = Merge()(state, partial[Index(split) * Index(kOutputs) + at]);
  Real v[1] = {finish_state(state)};
  epilogue<1>(v, at EPILOGUE_ARGUMENTS);
  store_located<YAt, 1>(y, at, v);
}
