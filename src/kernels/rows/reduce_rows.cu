// Reduction of each row of a loop [kRows, kLength] by kGroup threads, in kSplits pieces of the row; with more than one the
// pieces' states go to the workspace for reduce_finish.cu.

enum : int { kRowsPerBlock = kBlock / kGroup };

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, Y* __restrict__ y, State* __restrict__ partial EPILOGUE_PARAMETERS) {
  begin_kernel();
  const Index row = Index(blockIdx.x) * kRowsPerBlock + threadIdx.x / kGroup;
  const int lane = threadIdx.x % kGroup;
  const bool active = row < Index(kRows);
  const Index first = active ? row * Index(kLength) : Index(0);
  constexpr Index kPiece = (kLength + kSplits - 1) / kSplits, kWhole = (kPiece + kVector - 1) / kVector * kVector;
  const Index begin = blockIdx.y * kWhole, end = begin + kWhole < Index(kLength) ? begin + kWhole : Index(kLength);
  State states[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) states[i] = start_state();
#pragma unroll 4
  for (Index column = begin + lane * kVector; column < end; column += kGroup * kVector) {
    Wide<X> v[kVector];
    load_located<XAt, kVector>(x, first + column, v);
#pragma unroll
    for (int i = 0; i < kVector; ++i) states[i] = Merge()(states[i], state_of(v[i], column + i));
  }
#pragma unroll
  for (int step = kVector / 2; step > 0; step /= 2)
#pragma unroll
    for (int i = 0; i < step; ++i) states[i] = Merge()(states[i], states[i + step]);
  State state = states[0];
  constexpr int kWidth = kGroup < 32 ? kGroup : 32;
#pragma unroll
  for (int step = kWidth / 2; step > 0; step /= 2) state = Merge()(state, shuffle_state(state, step));
  if constexpr (kGroup > 32) {
    __shared__ State warps[kGroup < 32 ? 1 : kGroup / 32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = state;
    __syncthreads();
    state = warps[0];
#pragma unroll
    for (int i = 1; i < kGroup / 32; ++i) state = Merge()(state, warps[i]);
  }
  if (!active || lane != 0) return;
  if constexpr (kSplits > 1) {
    partial[Index(blockIdx.y) * Index(kRows) + row] = state;
  } else {
    Real v[1] = {finish_state(state)};
    epilogue<1>(v, row EPILOGUE_ARGUMENTS);
    store_located<YAt, 1>(y, row, v);
  }
}
