// The sum of the columns of all blocks at a pixel. BLOCK, COUNT and so on: numbers of each spatial axis.

__device__ inline Result element(i64* c, const Operands& o) {
  constexpr int kAxes = YAt::kRank - 2;
  i64 elements = 1;
  for (int a = 0; a < kAxes; ++a) elements *= block(a);
  Accumulator sum = 0;
  for (i64 e = 0; e < elements; ++e) {
    i64 rest = e, position = 0;
    i64 places[kAxes];
    for (int a = kAxes - 1; a >= 0; --a) {
      places[a] = c[2 + a] + begin(a) - rest % block(a) * dilation(a);
      rest /= block(a);
    }
    bool inside = true;
    for (int a = 0; a < kAxes; ++a) {
      inside = inside && places[a] >= 0 && places[a] % step(a) == 0 && places[a] / step(a) < count(a);
      position = position * count(a) + places[a] / step(a);
    }
    if (inside) sum += Accumulator(widen(o.x0[place<In0>(c[0], c[1] * elements + e, position)]));
  }
  return Result(sum);
}
