// The places of all flags that are set, in order: `starts` says where each stretch's begin.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(i64* __restrict__ places, const i64* __restrict__ starts, FLAG_PARAMETERS) {
  begin_kernel();
  __shared__ int warps[kBlock / 32];
  const i64 first = i64(blockIdx.x) * kStretch;
  i64 to = starts[blockIdx.x];
  for (i64 base = first; base < first + kStretch && base < kCount; base += kBlock) {
    const i64 i = base + threadIdx.x;
    const bool set = i < kCount && flag(i, FLAG_ARGUMENTS);
    const u32 votes = __ballot_sync(0xffffffffu, set);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = __popc(votes);
    __syncthreads();
    int before = __popc(votes & ((1u << threadIdx.x % 32) - 1)), all = 0;
    for (int w = 0; w < kBlock / 32; ++w) {
      if (w < int(threadIdx.x / 32)) before += warps[w];
      all += warps[w];
    }
    if (set) places[to + before] = i;
    to += all;
  }
}
