// A slice whose bounds the device knows; the result's extents are known already.

__device__ inline Result element(i64* c, const Operands& o) {
  i64 from = 0;
#pragma unroll
  for (int i = 0; i < In0::kRank; ++i) {
    i64 begin = 0, step = 1;
    for (int k = 0; k < kGiven; ++k) {
      i64 axis = kHasAxes ? i64(widen(o.x3[k * In3::stride(0)])) : k;
      if (axis < 0) axis += In0::kRank;
      if (axis != i) continue;
      if (kHasSteps) step = i64(widen(o.x4[k * In4::stride(0)]));
      begin = i64(widen(o.x1[k * In1::stride(0)]));
      if (begin < 0) begin += In0::extent(i);
      begin = clamped<i64>(begin, 0, step < 0 ? In0::extent(i) - 1 : In0::extent(i));
    }
    // Bounds that do not give the result's extents do not leave x.
    from += clamped<i64>(begin + c[i] * step, 0, In0::extent(i) - 1) * In0::stride(i);
  }
  return widen(o.x0[from]);
}
