// Second half of group normalization of large channels-last images: adds up the pieces' sums in order, then normalizes.
// The loop of the epilogue and of y is over images, pixels, channels.

constexpr int kGroupChannels = kChannels / kGroups;
constexpr int kImageVectors = kPixels * (kChannels / kVector);

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const float2* __restrict__ sums, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  __shared__ float2 factors[kGroups];  // Inverse deviation, and mean times it.
  const Index image = blockIdx.y;
  const Index base = image * Index(kImageStride);
  for (int group = threadIdx.x; group < kGroups; group += kBlock) {
    float sum = 0, square = 0;
#pragma unroll 8
    for (int piece = 0; piece < kPieces; ++piece) {
      const float2 part = sums[(image * kPieces + piece) * kGroups + group];
      sum += part.x;
      square += part.y;
    }
    constexpr float kCount = float(kGroupChannels) * float(kPixels);
    const float shift = sum / kCount;
    const float variance = fmaxf(square / kCount - shift * shift, 0.0f);
    const float inverse = 1 / sqrtf(variance + float(kEpsilon));
    const float mean = shift + widen(x[base + group * kGroupChannels]);
    factors[group] = make_float2(inverse, mean);
  }
  __syncthreads();
#pragma unroll 2
  for (int vector = blockIdx.x * kBlock + threadIdx.x; vector < kImageVectors; vector += gridDim.x * kBlock) {
    const int pixel = vector / (kChannels / kVector), channel = vector % (kChannels / kVector) * kVector;
    float v[kVector];
    load_wide<kVector>(x + base + Index(pixel) * Index(kPixelStride) + channel, v);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float2 factor = factors[(channel + i) / kGroupChannels];
      v[i] = (v[i] - factor.y) * factor.x;
    }
    const Index at = (image * Index(kPixels) + pixel) * Index(kChannels) + channel;
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, v);
  }
}
