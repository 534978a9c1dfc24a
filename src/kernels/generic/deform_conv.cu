// Convolution of samples at places moved by offsets.

__device__ inline double sample(const X0* image, double row, double column) {
  const double height = double(In0::extent(2)), width = double(In0::extent(3));
  if (!(row > -1 && column > -1 && row < height && column < width)) return 0;
  const i64 top = floor_of(row), left = floor_of(column);
  double sum = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const i64 y = top + i, x = left + j;
      if (y < 0 || y >= In0::extent(2) || x < 0 || x >= In0::extent(3)) continue;
      const double weight = (1 - fabs(row - double(y))) * (1 - fabs(column - double(x)));
      sum += weight * double(widen(image[y * In0::stride(2) + x * In0::stride(3)]));
    }
  return sum;
}

__device__ inline Real element(i64* c, const Operands& o) {
  constexpr i64 kDepth = In1::extent(1), kRows = In1::extent(2), kColumns = In1::extent(3);
  const i64 group = c[1] / (In1::extent(0) / kGroups);
  Real sum = kHasBias ? Real(widen(o.x3[c[1] * In3::stride(0)])) : Real(0);
  for (i64 k = 0; k < kDepth; ++k) {
    const i64 channel = group * kDepth + k;
    const i64 offsets = channel / (In0::extent(1) / kOffsetGroups) * kRows * kColumns;
    const X0* image = o.x0 + place<In0>(c[0], channel);
    for (i64 i = 0; i < kRows; ++i)
      for (i64 j = 0; j < kColumns; ++j) {
        const i64 point = offsets + i * kColumns + j;
        const double row = double(c[2] * kStride0 - kBegin0 + i * kDilation0) +
                           double(widen(o.x2[place<In2>(c[0], 2 * point, c[2], c[3])]));
        const double column = double(c[3] * kStride1 - kBegin1 + j * kDilation1) +
                              double(widen(o.x2[place<In2>(c[0], 2 * point + 1, c[2], c[3])]));
        Real value = Real(sample(image, row, column));
        if constexpr (kHasMask) value *= Real(widen(o.x4[place<In4>(c[0], point, c[2], c[3])]));
        sum += value * Real(widen(o.x1[place<In1>(c[1], k, i, j)]));
      }
  }
  return sum;
}
