// Several results, each of whose elements is an element of an operand of its own, or zero. Blocks of one place along the
// second axis make one of them. The planner has made, for each number,
//   pick<number>(Index at, i64& from, ...): false for zero; else `from` is the place of kVector elements in x<number>.

template <class YAt>
__device__ inline void copy_member(i64 count, Index at, const Word* __restrict__ x, Word* __restrict__ y, i64 from,
                                   bool inside) {
  if (i64(at) >= count) return;
  Pack<Word, kVector> pack;
  if (inside) {
    pack = load_pack<kVector>(x + from);
  } else {
#pragma unroll
    for (int i = 0; i < kVector; ++i) pack.v[i] = Word(0);
  }
  store_pack<kVector>(y + locate<YAt>(at), pack);
}

extern "C" __global__ void __launch_bounds__(kBlock) kernel(MEMBER_PARAMETERS) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kVector;
  i64 from = 0;
  bool inside = false;
  switch (blockIdx.y) { MEMBER_CASES }
}
