// Interpolation: every element of the result is a weighted sum over the taps of its place along each resized axis. A thread
// makes kVector elements along the fastest axis for each of kShared places along an axis that is not resized, so that it
// reads their taps once. place_of, taps_along and first_along are the planner's.

struct alignas(2 * sizeof(Real)) Tap {
  int offset;  // In elements of x.
  Real weight;
};

/// The next taps of place `place` along a resized axis, from number t on; there are taps_along(axis), a multiple of N.
template <int axis, int N>
__device__ inline Pack<Tap, N> taps_of(const Tap* taps, Index place, int t) {
  constexpr Index kFirst = first_along(axis), kCount = taps_along(axis);
  return load_pack<N>(taps + kFirst + place * kCount + t);
}

/// Adds the taps of all axes from number `axis` on, the fastest last.
template <int axis>
__device__ inline void add_taps(const X* x, const Tap* taps, const Index (&place)[kAxes], Real weight,
                                Real (&sum)[kShared][kVector]) {
  if constexpr (axis == kAxes) {
#pragma unroll
    for (int s = 0; s < kShared; ++s) {
      Wide<X> v[kVector];
      load_wide<kVector>(x + s * kFromShared, v);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum[s][i] += weight * Real(v[i]);
    }
  } else {
    constexpr int kCount = taps_along(axis), kStep = kCount < 4 ? kCount : 4;
    constexpr bool kEachItsOwn = kResizesFastest && axis == kAxes - 1;
    for (int t = 0; t < kCount; t += kStep) {
#pragma unroll
      for (int i = 0; i < (kEachItsOwn ? kVector : 1); ++i) {
        const Pack<Tap, kStep> own = taps_of<axis, kStep>(taps, place[axis] + i, t);
#pragma unroll
        for (int k = 0; k < kStep; ++k) {
          const X* tap = x + own.v[k].offset;
          const Real share = weight * own.v[k].weight;
          if constexpr (kEachItsOwn) {
#pragma unroll
            for (int s = 0; s < kShared; ++s) sum[s][i] += share * Real(widen(tap[s * kFromShared]));
          } else {
            add_taps<axis + 1>(tap, taps, place, share, sum);
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const X* __restrict__ x, const Tap* __restrict__ taps, Y* __restrict__ y) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= Index(kThreads)) return;
  Index place[kAxes];
  i64 from, to;
  place_of(at, place, from, to);
  Real sum[kShared][kVector];
#pragma unroll
  for (int s = 0; s < kShared; ++s)
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum[s][i] = 0;
  add_taps<0>(x + from, taps, place, Real(1), sum);
#pragma unroll
  for (int s = 0; s < kShared; ++s) store_narrow<kVector>(y + to + s * kToShared, sum[s]);
}
