// Depthwise convolution of channels-last images: kVector channels, kTile results along the width and kRows below each
// other a thread. Weights stay in registers, and each row of the input is loaded once, while the one before is used.
// Weights: [kernel rows][kernel columns][channels].

enum : int { kVectors = kChannels / kVector };
enum : int { kTiles = (kOut2 + kTile - 1) / kTile, kRowGroups = (kOut1 + kRows - 1) / kRows };
enum : int { kSpan = (kTile - 1) * kStride2 + (kKernel2 - 1) * kDilation2 + 1 };
enum : int { kReach = (kKernel1 - 1) * kDilation1 };
enum : int { kInputRows = (kRows - 1) * kStride1 + kReach + 1 };

// Whether some result needs place j of a span.
__device__ constexpr bool is_used(int j, int kernel, int dilation, int stride, int results) {
  for (int k = 0; k < kernel; ++k) {
    const int step = j - k * dilation;
    if (step >= 0 && step % stride == 0 && step / stride < results) return true;
  }
  return false;
}

using Vector = Pack<X, kVector>;

__device__ inline void load_row(Vector (&to)[kSpan], const X* from, int i1, int first2) {
  const bool inside = i1 >= 0 && i1 < kIn1;
#pragma unroll
  for (int j = 0; j < kSpan; ++j) {
    const int i2 = first2 + j;
    to[j] = Vector{};
    if (is_used(j, kKernel2, kDilation2, kStride2, kTile) && inside && i2 >= 0 && i2 < kIn2)
      to[j] = load_pack<kVector>(from + Index(i1) * Index(X1) + Index(i2) * Index(X2));
  }
}

extern "C" __global__ void __launch_bounds__(kBlock, kBlocksTogether)
    kernel(const X* __restrict__ x, const X* __restrict__ weights, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  Index task = Index(blockIdx.x) * kBlock + threadIdx.x;
  const bool active = task < Index(kTasks);
  const int channel = task % kVectors * kVector;
  task /= kVectors;
  const int out2 = task % kTiles * kTile;
  task /= kTiles;
  const int out1 = task % kRowGroups * kRows;
  const Index image = task / kRowGroups;
  float factors[kKernel1][kKernel2][kVector];
#pragma unroll
  for (int k1 = 0; k1 < kKernel1; ++k1)
#pragma unroll
    for (int k2 = 0; k2 < kKernel2; ++k2)
      load_wide<kVector>(weights + (k1 * kKernel2 + k2) * kChannels + channel, factors[k1][k2]);
  begin_kernel();
  if (!active) return;
  const X* from = x + image * Index(XN) + channel;
  const int first1 = out1 * kStride1 - kBegin1, first2 = out2 * kStride2 - kBegin2;
  float sums[kRows][kTile][kVector];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int t = 0; t < kTile; ++t)
#pragma unroll
      for (int i = 0; i < kVector; ++i) sums[r][t][i] = 0;
  Vector rows[2][kSpan];
  load_row(rows[0], from, first1, first2);
#pragma unroll
  for (int j1 = 0; j1 < kInputRows; ++j1) {
    if (j1 + 1 < kInputRows && is_used(j1 + 1, kKernel1, kDilation1, kStride1, kRows))
      load_row(rows[(j1 + 1) % 2], from, first1 + j1 + 1, first2);
    if (!is_used(j1, kKernel1, kDilation1, kStride1, kRows)) continue;
#pragma unroll
    for (int j = 0; j < kSpan; ++j) {
      float v[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) v[i] = widen(rows[j1 % 2][j].v[i]);
#pragma unroll
      for (int k1 = 0; k1 < kKernel1; ++k1) {
        const int step1 = j1 - k1 * kDilation1;
        if (step1 < 0 || step1 % kStride1 != 0 || step1 / kStride1 >= kRows) continue;
#pragma unroll
        for (int k2 = 0; k2 < kKernel2; ++k2) {
          const int step2 = j - k2 * kDilation2;
          if (step2 < 0 || step2 % kStride2 != 0 || step2 / kStride2 >= kTile) continue;
#pragma unroll
          for (int i = 0; i < kVector; ++i) sums[step1 / kStride1][step2 / kStride2][i] += v[i] * factors[k1][k2][i];
        }
      }
    }
    // The row of results that is complete now.
    if (j1 >= kReach && (j1 - kReach) % kStride1 == 0) {
      const int r = (j1 - kReach) / kStride1;
#pragma unroll
      for (int t = 0; t < kTile; ++t) {
        if (out1 + r >= kOut1 || out2 + t >= kOut2) continue;
        const Index at = ((image * kOut1 + out1 + r) * kOut2 + out2 + t) * Index(kChannels) + channel;
        epilogue<kVector>(sums[r][t], at EPILOGUE_ARGUMENTS);
        store_located<YAt, kVector>(y, at, sums[r][t]);
      }
    }
  }
}
