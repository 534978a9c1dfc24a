// One number of the Fourier transform of a frame. kParts: 1 real, 2 complex signal.

__device__ inline Real element(i64* c, const Operands& o) {
  Turn turn(-c[2], kLength);
  double sum = 0;
  for (i64 k = 0; k < kLength; ++k, turn.next()) {
    const X0* at = o.x0 + place<In0>(c[0], c[1] * kStep + k);
    double re = double(widen(at[0])), im = kParts == 2 ? double(widen(at[In0::stride(2)])) : 0.0;
    if constexpr (kHasWindow) {
      const double factor = double(widen(o.x2[place<In2>(k)]));
      re *= factor;
      im *= factor;
    }
    sum += c[3] == 1 ? re * turn.sine + im * turn.cosine : re * turn.cosine - im * turn.sine;
  }
  return Real(sum);
}
