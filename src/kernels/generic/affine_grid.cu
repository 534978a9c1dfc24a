// Points of a grid, moved by a matrix an image.

__device__ inline Real element(i64* c, const Operands& o) {
  constexpr int kAxes = YAt::kRank - 2;
  const i64 row = c[YAt::kRank - 1];
  double sum = widen(o.x0[place<In0>(c[0], row, kAxes)]);
  for (int column = 0; column < kAxes; ++column) {
    const int axis = kAxes - column;
    const double i = double(c[axis]), n = double(YAt::extent(axis));
    const double at = !kAlignCorners ? (2 * i + 1) / n - 1 : n > 1 ? 2 * i / (n - 1) - 1 : 0;
    sum += double(widen(o.x0[place<In0>(c[0], row, column)])) * at;
  }
  return Real(sum);
}
