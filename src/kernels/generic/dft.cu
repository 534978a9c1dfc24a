// One number of a discrete Fourier transform along an axis, from the whole line. kParts: 1 real, 2 complex. Each term is
// turned by as much as the one before and a step more: sines of their own would take 20 times as long as the rest.

__device__ inline Real element(i64* c, const Operands& o) {
  constexpr int kLast = In0::kRank - 1;
  const i64 m = c[kAxis];
  const bool imaginary = c[kLast] == 1;
  c[kAxis] = 0;
  c[kLast] = 0;
  const X0* line = o.x0 + place_of<In0>(c);
  Turn turn(kInverse ? m : -m, kLength);
  double sum = 0;
  for (i64 k = 0; k < kLength; ++k, turn.next()) {
    // The upper half of the spectrum of a real signal follows from the lower one.
    const bool mirrored = kMirror && k > kLength / 2;
    const i64 from = mirrored ? kLength - k : k;
    if (from >= In0::extent(kAxis)) continue;
    const X0* at = line + from * In0::stride(kAxis);
    const double re = double(widen(at[0]));
    double im = kParts == 2 ? double(widen(at[In0::stride(kLast)])) : 0.0;
    if (kMirror && (k == 0 || 2 * k == kLength)) im = 0;
    if (mirrored) im = -im;
    sum += imaginary ? re * turn.sine + im * turn.cosine : re * turn.cosine - im * turn.sine;
  }
  return Real(kInverse ? sum / double(kLength) : sum);
}
