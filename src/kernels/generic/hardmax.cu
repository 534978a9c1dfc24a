// One at the first largest element of a line, zero elsewhere.

__device__ inline Real element(i64* c, const Operands& o) {
  const i64 own = c[kAxis];
  c[kAxis] = 0;
  const X0* line = o.x0 + place_of<In0>(c);
  i64 best = 0;
  Wide<X0> top = widen(line[0]);
  for (i64 k = 1; k < In0::extent(kAxis); ++k) {
    const Wide<X0> v = widen(line[k * In0::stride(kAxis)]);
    if (v > top) {
      top = v;
      best = k;
    }
  }
  return Real(best == own ? 1 : 0);
}
