// x / (bias + alpha / size * squares of the neighbouring channels)^beta.

__device__ inline Real element(i64* c, const Operands& o) {
  const i64 channel = c[1];
  const i64 from = channel - kBefore < 0 ? 0 : channel - kBefore;
  const i64 to = channel + kAfter >= In0::extent(1) ? In0::extent(1) - 1 : channel + kAfter;
  const i64 own = place_of<In0>(c);
  double squares = 0;
  for (i64 k = from; k <= to; ++k) {
    const double v = widen(o.x0[own + (k - channel) * In0::stride(1)]);
    squares += v * v;
  }
  return Real(double(widen(o.x0[own])) / pow(kBias + kAlpha / kSize * squares, double(kBeta)));
}
