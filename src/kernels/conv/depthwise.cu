// Depthwise convolution of channels-last images: kVector channels and kTile results along the width a thread; each input
// is loaded once a kernel row. Weights: [kernel rows][kernel columns][channels].

constexpr int kVectors = kChannels / kVector;
constexpr int kTiles = (kOut2 + kTile - 1) / kTile;
constexpr int kSpan = (kTile - 1) * kStride2 + (kKernel2 - 1) * kDilation2 + 1;

extern "C" __global__ void __launch_bounds__(kBlock)
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
    float w[kKernel2][kVector];
#pragma unroll
    for (int k2 = 0; k2 < kKernel2; ++k2)
      load_wide<kVector>(weights + (k1 * kKernel2 + k2) * kChannels + channel, w[k2]);
    const X* from = x + image * Index(XN) + Index(i1) * Index(X1) + channel;
#pragma unroll
    for (int j = 0; j < kSpan; ++j) {
      const int i2 = first * kStride2 + j - kBegin2;
      bool used = false;
#pragma unroll
      for (int k2 = 0; k2 < kKernel2; ++k2) {
        const int step = j - k2 * kDilation2;
        used = used || (step >= 0 && step % kStride2 == 0 && step / kStride2 < kTile);
      }
      if (!used || i2 < 0 || i2 >= kIn2) continue;
      float v[kVector];
      load_wide<kVector>(from + Index(i2) * Index(X2), v);
#pragma unroll
      for (int k2 = 0; k2 < kKernel2; ++k2) {
        const int step = j - k2 * kDilation2;
        if (step >= 0 && step % kStride2 == 0 && step / kStride2 < kTile) {
#pragma unroll
          for (int i = 0; i < kVector; ++i) sums[step / kStride2][i] += v[i] * w[k2][i];
        }
      }
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
