// Weights of a run in the order of the tensor cores: [filter][tap][channel of the groups of a bundle], zeros where a filter does
// not see a channel and at the end of a row.
enum : int { kChannels = kBundle * kChannelsOfGroup };

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const Word* __restrict__ weights, Word* __restrict__ packed) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= Index(kFilters * kDepth)) return;
  const Index filter = at / kDepth, tap = at % kDepth / kChannels;
  // Of its own group; beyond those of any where the channel is another group's.
  const Index channel = at % kDepth % kChannels - filter / kFiltersOfGroup % kBundle * kChannelsOfGroup;
  packed[at] = tap < Index(kRows * kColumns) && channel < Index(kChannelsOfGroup)
                   ? weights[filter * Index(kFilterStride) + channel * Index(kChannelStride) +
                             tap / kColumns * Index(kRowStride) + tap % kColumns * Index(kColumnStride)]
                   : Word(0);
}
