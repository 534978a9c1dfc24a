// One exchange of a bitonic sort of each line.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(Ordered* __restrict__ keys, i64 size, i64 step) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= i64(kLines) * kPadded / 2) return;
  Ordered* line = keys + at / (kPadded / 2) * kPadded;
  const i64 i = at % (kPadded / 2), a = i / step * (2 * step) + i % step, b = a + step;
  const Ordered low = line[a], high = line[b];
  if (comes_first(high, low) == ((a & size) == 0)) {
    line[a] = high;
    line[b] = low;
  }
}
