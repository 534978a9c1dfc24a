// Weights of a run in the order of the tensor cores: [filter][tap][channel], rows filled up with zeros.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const Word* __restrict__ weights, Word* __restrict__ packed) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= Index(kFilters * kDepth)) return;
  const Index filter = at / kDepth, tap = at % kDepth / kChannels, channel = at % kDepth % kChannels;
  packed[at] = tap < Index(kRows * kColumns)
                   ? weights[filter * Index(kFilterStride) + channel * Index(kChannelStride) +
                             tap / kColumns * Index(kRowStride) + tap % kColumns * Index(kColumnStride)]
                   : Word(0);
}
