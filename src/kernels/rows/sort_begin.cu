// Keys of all lines, each filled up to a power of 2 with keys that come last.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(Ordered* __restrict__ keys, const X* __restrict__ x) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= i64(kLines) * kPadded) return;
  const i64 line = at / kPadded, i = at % kPadded;
  Ordered key = {Key(0), 0x7fffffff};
  if (i < kLength) key = {key_of(x[(line / kInner * kLength + i) * kInner + line % kInner]), int(i)};
  keys[at] = key;
}
