// Several copies in one launch: blocks from k<number>Begin on make copy <number>, kVector<number> elements a thread.

template <int kVector, class FromAt, class ToAt>
__device__ inline void copy_member(Index pack, Index packs, const Word* __restrict__ from, Word* __restrict__ to) {
  if (pack >= packs) return;
  Pack<Word, kVector> moved;
  const Word* p = from + locate<FromAt>(pack * kVector);
  if constexpr (packs_in_one<FromAt, kVector>() && kVector > 1) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) moved.v[k] = *p;
  } else {
    moved = load_pack<kVector>(p);
  }
  store_pack<kVector>(to + locate<ToAt>(pack * kVector), moved);
}

extern "C" __global__ void __launch_bounds__(kBlock) kernel(MEMBER_PARAMETERS) {
  begin_kernel();
  const Index block = blockIdx.x;
  MEMBER_CASES
}
