// Convolution and transposed convolution of any rank, layout, grouping and dilation: kVector output channels of kPixels
// neighbours along the last axis a thread.

enum : int { kOutVectors = kOutChannels / kVector };
enum : int { kPixelGroups = (kOut2 + kPixels - 1) / kPixels };
enum : int { kGroupIn = kInChannels / kGroups, kGroupOut = kOutChannels / kGroups };

// The input's place for an output's place and a kernel element; false where there is none.
__device__ inline bool input_place(int out, int k, int stride, int dilation, int begin, int extent, int& in) {
  if (kTransposed) {
    const int scaled = out + begin - k * dilation;
    in = scaled / stride;
    return scaled >= 0 && scaled % stride == 0 && in < extent;
  }
  in = out * stride + k * dilation - begin;
  return in >= 0 && in < extent;
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const W* __restrict__ weights, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  Index task = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (task >= Index(kTasks)) return;
  const int channel = task % kOutVectors * kVector;
  task /= kOutVectors;
  const int first = task % kPixelGroups * kPixels;
  task /= kPixelGroups;
  const int o1 = task % kOut1;
  task /= kOut1;
  const int o0 = task % kOut0;
  const Index image = task / kOut0;
  const int group = channel / kGroupOut;
  Accumulator sums[kPixels][kVector];
#pragma unroll
  for (int p = 0; p < kPixels; ++p)
#pragma unroll
    for (int i = 0; i < kVector; ++i) sums[p][i] = Accumulator(0);
  const X* images = x + image * Index(XN) + Index(group * kGroupIn) * Index(XC);
  for (int k0 = 0; k0 < kKernel0; ++k0) {
    int i0;
    if (!input_place(o0, k0, kStride0, kDilation0, kBegin0, kIn0, i0)) continue;
    for (int k1 = 0; k1 < kKernel1; ++k1) {
      int i1;
      if (!input_place(o1, k1, kStride1, kDilation1, kBegin1, kIn1, i1)) continue;
      for (int k2 = 0; k2 < kKernel2; ++k2) {
        const X* from[kPixels];
        bool inside[kPixels];
        bool any = false;
#pragma unroll
        for (int p = 0; p < kPixels; ++p) {
          int i2;
          inside[p] = first + p < kOut2 && input_place(first + p, k2, kStride2, kDilation2, kBegin2, kIn2, i2);
          from[p] = images + Index(i0) * Index(X0) + Index(i1) * Index(X1) + Index(inside[p] ? i2 : 0) * Index(X2);
          any = any || inside[p];
        }
        if (!any) continue;
        const W* w = weights + Index(channel - kOwnGroup * group * kGroupOut) * Index(kWeightOut) +
                     Index(kOwnGroup * group * kGroupIn) * Index(kWeightIn) + k0 * Index(kWeight0) +
                     k1 * Index(kWeight1) + k2 * Index(kWeight2);
#pragma unroll 4
        for (int c = 0; c < kGroupIn; ++c) {
          Accumulator factor[kVector];
          if constexpr (kWeightOut == 1) {
            load_wide<kVector>(w + c * Index(kWeightIn), factor);
          } else {
#pragma unroll
            for (int i = 0; i < kVector; ++i)
              factor[i] = Accumulator(widen(w[c * Index(kWeightIn) + i * Index(kWeightOut)]));
          }
#pragma unroll
          for (int p = 0; p < kPixels; ++p) {
            const Accumulator v = inside[p] ? Accumulator(widen(from[p][c * Index(XC)])) : Accumulator(0);
#pragma unroll
            for (int i = 0; i < kVector; ++i) sums[p][i] += v * factor[i];
          }
        }
      }
    }
  }
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    if (first + p >= kOut2) break;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const Index at = image * Index(kLoop0) + o0 * Index(kLoop1) + o1 * Index(kLoop2) + (first + p) * Index(kLoop3) +
                       (channel + i) * Index(kLoopC);
      Real v[1] = {Real(sums[p][i])};
      epilogue<1>(v, at EPILOGUE_ARGUMENTS);
      store_located<YAt, 1>(y, at, v);
    }
  }
}
