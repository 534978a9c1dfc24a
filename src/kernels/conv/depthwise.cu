// Depthwise convolution of channels-last images: kVector channels and kTile results along the width a thread; each input
// is loaded once a kernel row. Weights: [kernel rows][kernel columns][channels].

enum : int { kVectors = kChannels / kVector };
enum : int { kTiles = (kOut2 + kTile - 1) / kTile };
enum : int { kSpan = (kTile - 1) * kStride2 + (kKernel2 - 1) * kDilation2 + 1 };

// Whether some result needs column j of the span.
__device__ constexpr bool is_used(int j) {
  for (int k = 0; k < kKernel2; ++k) {
    const int step = j - k * kDilation2;
    if (step >= 0 && step % kStride2 == 0 && step / kStride2 < kTile) return true;
  }
  return false;
}

extern "C" __global__ void __launch_bounds__(kBlock, 4)
    kernel(const X* __restrict__ x, const X* __restrict__ weights, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  Index task = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (task >= Index(kTasks)) return;
  const int channel = task % kVectors * kVector;
  task /= kVectors;
  const int first = task % kTiles * kTile;
  task /= kTiles;
  const int row = task % kOut1;
  const Index image = task / kOut1;
  float sums[kTile][kVector];
#pragma unroll
  for (int t = 0; t < kTile; ++t)
#pragma unroll
    for (int i = 0; i < kVector; ++i) sums[t][i] = 0;
#pragma unroll
  for (int k1 = 0; k1 < kKernel1; ++k1) {
    const int i1 = row * kStride1 + k1 * kDilation1 - kBegin1;
    if (i1 < 0 || i1 >= kIn1) continue;
    // All loads of a row are under way before the first is used.
    Pack<X, kVector> w[kKernel2], v[kSpan];
#pragma unroll
    for (int k2 = 0; k2 < kKernel2; ++k2)
      w[k2] = load_pack<kVector>(weights + (k1 * kKernel2 + k2) * kChannels + channel);
    const X* from = x + image * Index(XN) + Index(i1) * Index(X1) + channel;
#pragma unroll
    for (int j = 0; j < kSpan; ++j) {
      const int i2 = first * kStride2 + j - kBegin2;
      v[j] = Pack<X, kVector>{};
      if (is_used(j) && i2 >= 0 && i2 < kIn2) v[j] = load_pack<kVector>(from + Index(i2) * Index(X2));
    }
#pragma unroll
    for (int k2 = 0; k2 < kKernel2; ++k2) {
      float factor[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) factor[i] = widen(w[k2].v[i]);
#pragma unroll
      for (int t = 0; t < kTile; ++t)
#pragma unroll
        for (int i = 0; i < kVector; ++i) sums[t][i] += widen(v[t * kStride2 + k2 * kDilation2].v[i]) * factor[i];
    }
  }
#pragma unroll
  for (int t = 0; t < kTile; ++t) {
    if (first + t >= kOut2) break;
    const Index at = ((image * kOut1 + row) * kOut2 + first + t) * Index(kChannels) + channel;
    epilogue<kVector>(sums[t], at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, sums[t]);
  }
}
