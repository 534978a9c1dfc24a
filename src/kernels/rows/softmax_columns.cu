// Softmax, or its logarithm, along the middle axis of a loop [kOuter, kLength, kInner]: a thread takes kVector columns,
// kLanes threads lie side by side, and kShares threads share the length of a column and keep their part in registers.

enum : int { kVectors = kInner / kVector };
enum : int { kSteps = (kLength + kShares - 1) / kShares };

/// The column's values of all threads that share it combined, the same in each, in a fixed order.
template <class Operation>
__device__ inline void combine_shares(Real (&v)[kVector], Real (*shared)[kVector][kLanes], int share, int lane,
                                      Operation combine) {
  if constexpr (kShares > 1) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kVector; ++i) shared[share][i][lane] = v[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      v[i] = shared[0][i][lane];
      for (int s = 1; s < kShares; ++s) v[i] = combine(v[i], shared[s][i][lane]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kLanes * kShares)
    kernel(const X* __restrict__ x, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  __shared__ Real shared[kShares][kVector][kLanes];
  const int lane = threadIdx.x % kLanes, share = threadIdx.x / kLanes;
  const Index column = Index(blockIdx.x) * kLanes + lane;
  // The last block may have threads without columns; they work on the first ones.
  const bool active = column < Index(kOuter) * kVectors;
  const Index outer = active ? column / kVectors : 0, inner = active ? column % kVectors * kVector : 0;
  const auto place = [&](int step) { return (outer * Index(kLength) + Index(step * kShares + share)) * Index(kInner) + inner; };
  const auto inside = [&](int step) { return kLength % kShares == 0 || step * kShares + share < kLength; };
  Real v[kSteps][kVector], top[kVector], sum[kVector];
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    if (inside(s)) load_located<XAt, kVector>(x, place(s), v[s]);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    top[i] = -Real(kInfinity);
    sum[i] = 0;
  }
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    if (inside(s))
#pragma unroll
      for (int i = 0; i < kVector; ++i) top[i] = Max()(top[i], v[s][i]);
  combine_shares(top, shared, share, lane, Max());
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    if (inside(s))
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const Real power = exp(v[s][i] - top[i]);
        sum[i] += power;
        v[s][i] = kLog ? v[s][i] - top[i] : power;
      }
  combine_shares(sum, shared, share, lane, Sum());
  if (!active) return;
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum[i] = kLog ? log(sum[i]) : Real(1) / sum[i];
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    if (inside(s)) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) v[s][i] = kLog ? v[s][i] - sum[i] : v[s][i] * sum[i];
      epilogue<kVector>(v[s], place(s) EPILOGUE_ARGUMENTS);
      store_located<YAt, kVector>(y, place(s), v[s]);
    }
}
