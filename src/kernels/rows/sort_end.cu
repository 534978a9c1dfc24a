// The first k elements of each sorted line, with their places.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(X* __restrict__ values, i64* __restrict__ places, const Ordered* __restrict__ keys, const X* __restrict__ x) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= i64(kLines) * kPadded) return;
  const i64 line = at / kPadded, i = at % kPadded;
  if (i >= kK) return;
  const i64 place = keys[at].place, to = (line / kInner * kK + i) * kInner + line % kInner;
  values[to] = x[(line / kInner * kLength + place) * kInner + line % kInner];
  places[to] = place;
}
