// Keys or values of the past followed by the new ones: [batch, heads, total, size] of X1, dense. kForm: how the new ones
// lie: 0 [batch, heads, steps, size], 1 [batch, steps, heads, size], 2 [batch, steps, heads * size].

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(X1* __restrict__ all, const X1* __restrict__ fresh, const X4* __restrict__ past) {
  begin_kernel();
  i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kCount) return;
  const i64 to = at;
  const i64 i = at % kSize, step = at / kSize % kTotal, head = at / kSize / kTotal % kHeads,
            image = at / kSize / kTotal / kHeads;
  if (step < kPast) {
    all[to] = past[place<In4>(image, head, step, i)];
    return;
  }
  const i64 s = step - kPast;
#if PRESENT_FORM == 0
  all[to] = fresh[place<In1>(image, head, s, i)];
#elif PRESENT_FORM == 1
  all[to] = fresh[place<In1>(image, s, head, i)];
#else
  all[to] = fresh[place<In1>(image, s, head * kSize + i)];
#endif
}
