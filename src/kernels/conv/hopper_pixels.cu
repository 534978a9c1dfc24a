// The rows of A in gemm/hopper.cu where they are the pixels of a convolution's result and k runs over taps and their
// channels, kChannelBlocks times 64 of them: the copy engine gathers what one tap sees of pixels that follow each other.

constexpr int kChannelBlocks = (kC + kTileK - 1) / kTileK;

__device__ inline void fetch_a(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k) {
  const int block = k / kTileK, tap = block / kChannelBlocks, c = block % kChannelBlocks * kTileK;
  const int o2 = tile.m % kOut2, o1 = tile.m / kOut2 % kOut1, image = tile.m / (kOut2 * kOut1);
  fetch_pixels(to, map, barrier, c, o2 * kStride2 - kBegin2, o1 * kStride1 - kBegin1, image, tap % kKernel2 * kDilation2,
               tap / kKernel2 * kDilation1);
}
