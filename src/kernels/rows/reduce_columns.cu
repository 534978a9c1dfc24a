// Reduction along the middle axis of a loop [kOuter, kLength, kInner]: each thread takes kVector columns, kLanes of them
// side by side, and the block's other threads share the length, as do kSplits blocks.

enum : int { kVectors = kInner / kVector };
enum : int { kShares = kBlock / kLanes };
enum : int { kColumnBlocks = (kVectors + kLanes - 1) / kLanes };

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, Y* __restrict__ y, State* __restrict__ partial EPILOGUE_PARAMETERS) {
  begin_kernel();
  const int lane = threadIdx.x % kLanes, share = threadIdx.x / kLanes;
  const Index outer = blockIdx.x / kColumnBlocks;
  const int vector = blockIdx.x % kColumnBlocks * kLanes + lane;
  const bool active = vector < kVectors;
  const Index inner = active ? vector * kVector : 0;
  const i64 begin = i64(blockIdx.y) * kLength / kSplits, end = i64(blockIdx.y + 1) * kLength / kSplits;
  State states[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) states[i] = start_state();
  if (active) {
#pragma unroll 4
    for (i64 r = begin + share; r < end; r += kShares) {
      Wide<X> v[kVector];
      load_located<XAt, kVector>(x, (outer * Index(kLength) + Index(r)) * Index(kInner) + inner, v);
#pragma unroll
      for (int i = 0; i < kVector; ++i) states[i] = Merge()(states[i], state_of(v[i], r));
    }
  }
  __shared__ State shared[kShares][kVector][kLanes];
#pragma unroll
  for (int i = 0; i < kVector; ++i) shared[share][i][lane] = states[i];
#pragma unroll
  for (int step = kShares / 2; step > 0; step /= 2) {
    __syncthreads();
    if (share < step) {
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        shared[share][i][lane] = Merge()(shared[share][i][lane], shared[share + step][i][lane]);
    }
  }
  if (share != 0 || !active) return;
  const Index at = outer * Index(kInner) + inner;
  if constexpr (kSplits > 1) {
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      partial[Index(blockIdx.y) * Index(kOuter) * Index(kInner) + at + i] = shared[0][i][lane];
  } else {
    Real v[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = finish_state(shared[0][i][lane]);
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, v);
  }
}
