// A reduction over any axes of any type, also of no elements. kFunction: 0 sum, 1 product, 2 largest, 3 least, 4 mean,
// 5 sum of magnitudes, 6 root of squares, 7 logarithm of the sum, 8 logarithm of the sum of exponentials, 9 squares.

__device__ inline Result element(i64* c, const Operands& o) {
  i64 first = 0;
#pragma unroll
  for (int i = 0; i < YAt::kRank; ++i) first += c[i] * kept(i);
  Sum_ top = 0;
  if (kFunction == 8) {
    top = -Sum_(kInfinity);
    for (i64 n = 0; n < kReduced; ++n) {
      const Sum_ v = Sum_(widen(o.x0[first + reduced_place(n)]));
      top = v > top || v != v ? v : top;
    }
    if (isinf(double(top))) top = 0;
  }
  Sum_ result = Sum_(kFirst);
  for (i64 n = 0; n < kReduced; ++n) {
    const Sum_ v = Sum_(widen(o.x0[first + reduced_place(n)]));
    if (kFunction == 1) result *= v;
    else if (kFunction == 2) result = n == 0 || v > result || v != v ? (result != result ? result : v) : result;
    else if (kFunction == 3) result = n == 0 || v < result || v != v ? (result != result ? result : v) : result;
    else if (kFunction == 5) result += v < Sum_(0) ? -v : v;
    else if (kFunction == 6 || kFunction == 9) result += v * v;
    else if (kFunction == 8) result += Sum_(exp(double(v - top)));
    else result += v;
  }
  if (kFunction == 4) result /= Sum_(kDivisor);
  if (kFunction == 6) result = Sum_(sqrt(double(result)));
  if (kFunction == 7) result = Sum_(log(double(result)));
  if (kFunction == 8) result = Sum_(log(double(result))) + top;
  return Result(result);
}
