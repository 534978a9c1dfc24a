// Triangular filters on a spectrum.

__device__ inline i64 corner(i64 i, const Operands& o) {
  const double low = double(widen(o.x3[0])), high = double(widen(o.x4[0])), rate = double(widen(o.x2[0]));
  const double from = 2595 * log10(1 + low / 700), to = 2595 * log10(1 + high / 700);
  const double step = (to - from) / double(YAt::extent(1) + 2);
  const double hertz = 700 * (pow(10.0, (double(i) * step + from) / 2595) - 1);
  return i64(floor((double(widen(o.x1[0])) + 1) * hertz / rate));
}

__device__ inline Result element(i64* c, const Operands& o) {
  const i64 low = corner(c[1], o), centre = corner(c[1] + 1, o), high = corner(c[1] + 2, o);
  const i64 j = c[0];
  double weight = 0;
  if (j >= low && j <= centre) weight = centre == low ? 1 : double(j - low) / double(centre - low);
  if (j >= centre && j < high) weight = double(high - j) / double(high - centre);
  return Result(weight);
}
