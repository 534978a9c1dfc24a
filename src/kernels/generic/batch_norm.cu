// Normalization by numbers of each channel.

__device__ inline Real element(i64* c, const Operands& o) {
  const i64 k = In0::kRank > 1 ? c[1] : 0;
  const double factor = double(widen(o.x1[k * In1::stride(0)])) / sqrt(double(widen(o.x4[k * In4::stride(0)])) + kEpsilon);
  return Real((double(widen(o.x0[place_of<In0>(c)])) - double(widen(o.x3[k * In3::stride(0)]))) * factor +
              double(widen(o.x2[k * In2::stride(0)])));
}
