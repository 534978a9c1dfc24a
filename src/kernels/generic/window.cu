// Hann (0), Hamming (1) and Blackman (2) windows.

__device__ inline Result element(i64* c, const Operands&) {
  if (kPeriod <= 0) return Result(1);
  const double turn = 2 * double(c[0]) / double(kPeriod), at = cospi(turn);
  if (kWindow == 0) return Result(0.5 - 0.5 * at);
  if (kWindow == 1) return Result(25.0 / 46.0 - 21.0 / 46.0 * at);
  return Result(0.42 - 0.5 * at + 0.08 * cospi(2 * turn));
}
