// Running sums and products along an axis that the device knows: each element from the start of its line.

__device__ inline Result element(i64* c, const Operands& o) {
  int axis = int(widen(o.x1[0]));
  if (axis < 0) axis += In0::kRank;
  i64 extent = 1, stride = 0;
#pragma unroll
  for (int i = 0; i < In0::kRank; ++i)
    if (i == axis) {
      extent = In0::extent(i);
      stride = In0::stride(i);
    }
  const i64 own = axis >= 0 && axis < In0::kRank ? c[axis] : 0;
  const X0* line = o.x0 + place_of<In0>(c) - own * stride;
  Sum_ result = kProduct ? 1 : 0;
  const i64 steps = (kReverse ? extent - 1 - own : own) + (kExclusive ? 0 : 1);
  for (i64 k = 0; k < steps; ++k) {
    const Sum_ v = Sum_(widen(line[(kReverse ? extent - 1 - k : k) * stride]));
    result = kProduct ? result * v : result + v;
  }
  return Result(result);
}
