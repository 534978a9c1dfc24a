// Pairs of elements rotated by the angle of their position.

__device__ inline Real element(i64* c, const Operands& o) {
  constexpr bool kHeadsInside = In0::kRank == 3;
  const i64 s = kHeadsInside ? c[1] : c[2];
  const i64 size = kHeadsInside ? In0::extent(2) / kHeads : In0::extent(In0::kRank - 1);
  const i64 last = c[In0::kRank - 1], at = kHeadsInside ? last % size : last;
  const X0* x = o.x0 + place_of<In0>(c);
  const Real own = Real(widen(x[0]));
  if (at >= kRotated) return own;
  constexpr i64 kHalf = kRotated / 2;
  const bool second = kInterleaved ? at % 2 == 1 : at >= kHalf;
  const i64 pair = kInterleaved ? at / 2 : second ? at - kHalf : at;
  const i64 step = (kInterleaved ? 1 : kHalf) * In0::stride(In0::kRank - 1);
  const Real other = Real(widen(x[second ? -step : step]));
  constexpr i64 kSequence = kHeadsInside ? In0::extent(1) : In0::extent(2);
  i64 row = c[0] * kSequence + s;
  if constexpr (kHasPositions) {
    row = i64(widen(o.x3[place_of_number<In3>(row)]));
    // Invalid positions do not leave the caches.
    row = clamped<i64>(row < 0 ? row + kCacheRows : row, 0, kCacheRows - 1);
  } else if constexpr (kCacheRows == kSequence) {
    row = s;  // Caches of one sequence serve all of the batch.
  }
  const Real cosine = Real(widen(o.x1[place_of_number<In1>(row * kHalf + pair)]));
  const Real sine = Real(widen(o.x2[place_of_number<In2>(row * kHalf + pair)]));
  return second ? sine * other + cosine * own : cosine * own - sine * other;
}
