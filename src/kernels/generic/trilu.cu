// A triangle of matrices, its diagonal known to the device.

__device__ inline Result element(i64* c, const Operands& o) {
  const i64 distance = c[In0::kRank - 1] - c[In0::kRank - 2];
  const i64 k = i64(widen(o.x1[0]));
  if (kUpper ? distance < k : distance > k) return Result(0);
  return widen(o.x0[place_of<In0>(c)]);
}
