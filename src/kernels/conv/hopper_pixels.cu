// The rows of A in gemm/hopper.cu where they are the pixels of a convolution's result and k runs over taps and their
// channels, kChannelBlocks times kPanelK of them: TMA gathers what one tap sees of pixels that follow each other.

enum : int { kChannelBlocks = (kC + kPanelK - 1) / kPanelK, kLastBlock = kKernel1 * kKernel2 * kChannelBlocks - 1 };

__device__ inline void fetch_a(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k, CachePolicy policy) {
  // Behind the last one weights are 0, and so are channels.
  const bool is_behind = kPanels > 1 && k / kPanelK > kLastBlock;
  const int block = is_behind ? int(kLastBlock) : k / kPanelK, tap = block / kChannelBlocks;
  const int c = (is_behind ? int(kChannelBlocks) : block % kChannelBlocks) * kPanelK;
  const int o2 = tile.m % kOut2, o1 = tile.m / kOut2 % kOut1, image = tile.m / (kOut2 * kOut1);
  fetch_pixels(to, map, barrier, c, o2 * kStride2 - kBegin2, o1 * kStride1 - kBegin1, image, tap % kKernel2 * kDilation2,
               tap / kKernel2 * kDilation1, policy);
}
