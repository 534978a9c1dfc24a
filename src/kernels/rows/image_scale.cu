// Second half of group normalization of large channels-last images: adds up the pieces' sums in order, then normalizes.
// The loop of the epilogue and of y is over images, pixels, channels.

enum : int { kGroupChannels = kChannels / kGroups };
// Threads that share the pieces of a group.
enum : int { kSlices = kGroups >= kBlock ? 1 : (kBlock / kGroups < 16 ? kBlock / kGroups : 16) };
enum : u32 { kImageVectors = kPixels * (kChannels / kVector) };

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const float2* __restrict__ sums, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  __shared__ float2 factors[kGroups];  // Inverse deviation, and the mean.
  __shared__ float2 parts[kSlices][kGroups];
  const Index image = blockIdx.y;
  const Index base = image * Index(kPixels) * Index(kChannels);
  for (int task = threadIdx.x; task < kSlices * kGroups; task += kBlock) {
    const int group = task % kGroups, slice = task / kGroups;
    float2 total = make_float2(0, 0);
#pragma unroll 8
    for (int piece = slice; piece < kPieces; piece += kSlices) {
      const float2 part = sums[(image * kPieces + piece) * kGroups + group];
      total.x += part.x;
      total.y += part.y;
    }
    parts[slice][group] = total;
  }
  __syncthreads();
  for (int group = threadIdx.x; group < kGroups; group += kBlock) {
    float2 total = parts[0][group];
#pragma unroll
    for (int slice = 1; slice < kSlices; ++slice) {
      total.x += parts[slice][group].x;
      total.y += parts[slice][group].y;
    }
    constexpr float kCount = float(kGroupChannels) * float(kPixels);
    const float shift = total.x / kCount;
    const float variance = fmaxf(total.y / kCount - shift * shift, 0.0f);
    const float inverse = 1 / sqrtf(variance + float(kEpsilon));
    factors[group] = make_float2(inverse, shift + widen(x[locate<XAt>(Index(base + group * kGroupChannels))]));
  }
  __syncthreads();
#pragma unroll 2
  for (u32 vector = blockIdx.x * kBlock + threadIdx.x; vector < kImageVectors; vector += gridDim.x * kBlock) {
    const int pixel = vector / u32(kChannels / kVector), channel = vector % u32(kChannels / kVector) * kVector;
    const Index at = base + Index(pixel) * Index(kChannels) + channel;
    float v[kVector];
    load_located<XAt, kVector>(x, at, v);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float2 factor = factors[(channel + i) / kGroupChannels];
      v[i] = (v[i] - factor.y) * factor.x;
    }
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, v);
  }
}
