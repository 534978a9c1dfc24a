// First half of group normalization of large channels-last images: sums and sums of squares of each group over a piece of
// the pixels, relative to the group's first element so that little cancels. Results: sums[image][piece][group].

enum : int { kVectors = kChannels / kVector };          // Of one pixel.
enum : int { kLanes = kVectors < kBlock ? kVectors : kBlock };
enum : int { kPixelLanes = kBlock / kLanes };
enum : int { kColumns = (kVectors + kLanes - 1) / kLanes };  // Vectors a thread takes of each pixel.
enum : int { kGroupChannels = kChannels / kGroups };

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const X* __restrict__ x, float2* __restrict__ sums) {
  begin_kernel();
  __shared__ float2 channel_sums[kPixelLanes][kChannels];
  const int lane = threadIdx.x % kLanes, pixel_lane = threadIdx.x / kLanes;
  const Index image = blockIdx.y;
  const int first = int(i64(blockIdx.x) * kPixels / kPieces), last = int(i64(blockIdx.x + 1) * kPixels / kPieces);
  const Index base = image * Index(kPixels) * Index(kChannels);
  if (pixel_lane < kPixelLanes) {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int channel = (column * kLanes + lane) * kVector;
      if (channel >= kChannels) break;
      float origin[kVector], sum[kVector], square[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        origin[i] = widen(x[locate<XAt>(Index(base + (channel + i) / kGroupChannels * kGroupChannels))]);
        sum[i] = square[i] = 0;
      }
#pragma unroll 4
      for (int pixel = first + pixel_lane; pixel < last; pixel += kPixelLanes) {
        float v[kVector];
        load_located<XAt, kVector>(x, Index(base + Index(pixel) * Index(kChannels) + channel), v);
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          const float d = v[i] - origin[i];
          sum[i] += d;
          square[i] += d * d;
        }
      }
#pragma unroll
      for (int i = 0; i < kVector; ++i) channel_sums[pixel_lane][channel + i] = make_float2(sum[i], square[i]);
    }
  }
  __syncthreads();
  for (int channel = threadIdx.x; channel < kChannels; channel += kBlock) {
    float2 total = channel_sums[0][channel];
    for (int p = 1; p < kPixelLanes; ++p) {
      total.x += channel_sums[p][channel].x;
      total.y += channel_sums[p][channel].y;
    }
    channel_sums[0][channel] = total;
  }
  __syncthreads();
  for (int group = threadIdx.x; group < kGroups; group += kBlock) {
    float2 total = channel_sums[0][group * kGroupChannels];
    for (int c = 1; c < kGroupChannels; ++c) {
      total.x += channel_sums[0][group * kGroupChannels + c].x;
      total.y += channel_sums[0][group * kGroupChannels + c].y;
    }
    sums[(image * kPieces + blockIdx.x) * kGroups + group] = total;
  }
}
