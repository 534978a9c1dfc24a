// (x - zero point) * scale.

__device__ inline Real element(i64* c, const Operands& o) {
  double v = double(widen(o.x0[place_of<In0>(c)]));
  if constexpr (kHasZero) v -= double(widen(o.x2[zero_place(c)]));
  return Real(float(v) * float(widen(o.x1[scale_place(c)])));
}
