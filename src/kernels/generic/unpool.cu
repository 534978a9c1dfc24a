// Values put back where a pooling found them, the last one where several were found at one place; the result was set to
// zero before.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const X0* __restrict__ x, const X1* __restrict__ indices, u32* last, i64 pass) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kCount) return;
  i64 index = i64(widen(indices[place_of_number<In1>(at)]));
  if (index < 0) return;
  i64 c[YAt::kRank];
#pragma unroll
  for (int a = YAt::kRank - 1; a >= 0; --a) {
    c[a] = index % natural(a);
    index /= natural(a);
    if (c[a] >= YAt::extent(a)) return;
  }
  if (index != 0) return;
  const i64 to = place_of<YAt>(c);
  if (is_last_update(last, to, u32(at) + 1, pass)) y[to] = narrow<Y>(widen(x[place_of_number<In0>(at)]));
}
