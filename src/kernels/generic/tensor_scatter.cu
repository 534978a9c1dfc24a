// A cache of which some steps along an axis are replaced.

__device__ inline Result element(i64* c, const Operands& o) {
  constexpr i64 kLength = In0::extent(kAxis), kSteps = In1::extent(kAxis);
  i64 start = 0;
  if constexpr (kHasStarts) start = i64(widen(o.x2[place_of_number<In2>(c[0])]));
  const i64 from = place_of<In0>(c);
  i64 step = c[kAxis] - (kLength > 0 ? start % kLength : 0);
  if (step < 0 && kCircular) step += kLength;
  if (step < 0 || step >= kSteps) return widen(o.x0[from]);
  c[kAxis] = step;
  return widen(o.x1[place_of<In1>(c)]);
}
