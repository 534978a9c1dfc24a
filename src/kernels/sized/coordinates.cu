// The coordinates of elements, an axis a row.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(i64* __restrict__ y, const i64* __restrict__ places, i64 count) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= count) return;
  i64 rest = places[i];
#pragma unroll
  for (int a = In0::kRank - 1; a >= 0; --a) {
    y[a * count + i] = rest % In0::extent(a);
    rest /= In0::extent(a);
  }
}
