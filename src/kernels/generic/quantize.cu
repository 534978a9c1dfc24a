// x / scale (+ zero point), rounded where the result is an integer.

__device__ inline Result element(i64* c, const Operands& o) {
  const i64 s = scale_place(c);
  float q = float(widen(o.x0[place_of<In0>(c)])) / float(widen(o.x1[s]));
  if (QUANTIZE_INTEGER) q = rintf(q);
  if constexpr (kHasZero) q += float(widen(o.x2[zero_place(c)]));
#if QUANTIZE_INTEGER
  return saturate<Result>(double(q), kLow, kHigh);
#else
  return q;
#endif
}
