// Elements of one tensor to their places in another one, kVector at a time, kUnroll packs a thread.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const Word* __restrict__ from, Word* __restrict__ to) {
  begin_kernel();
  const Index packs_in_all = kCount / kVector;
  const Index first = Index(blockIdx.x) * (kBlock * kUnroll) + threadIdx.x;
  Pack<Word, kVector> packs[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const Index pack = first + i * kBlock;
    if (pack >= packs_in_all) break;
    const Word* p = from + kFromOffset + locate<FromAt>(pack * kVector);
    if constexpr (packs_in_one<FromAt, kVector>() && kVector > 1) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) packs[i].v[k] = *p;
    } else {
      packs[i] = load_pack<kVector>(p);
    }
  }
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const Index pack = first + i * kBlock;
    if (pack >= packs_in_all) break;
    store_pack<kVector>(to + kToOffset + locate<ToAt>(pack * kVector), packs[i]);
  }
}
