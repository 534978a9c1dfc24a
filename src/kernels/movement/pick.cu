// Every element of the result is an element of x, or the fill value. The planner has made
//   pick(Index at, i64& from PICK_PARAMETERS): false for the fill; else `from` is the place of kVector elements in x.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const Word* __restrict__ x, Word* __restrict__ y, const Word* __restrict__ fill PICK_PARAMETERS) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kVector;
  if (at >= Index(kCount)) return;
  i64 from = 0;
  const bool inside = pick(at, from PICK_ARGUMENTS);
  Pack<Word, kVector> pack;
  if (inside) {
    pack = load_pack<kVector>(x + from);
  } else {
    const Word value = fill != nullptr ? *fill : Word(0);
#pragma unroll
    for (int i = 0; i < kVector; ++i) pack.v[i] = value;
  }
  store_pack<kVector>(y + locate<YAt>(at), pack);
}
