// One element of a matrix product of integers or doubles.

__device__ inline Accumulator element(i64* c, const Operands& o) {
  const X0* a = o.x0 + place_a(c);
  const X1* b = o.x1 + place_b(c);
  Accumulator sum = 0;
  for (i64 k = 0; k < kDepth; ++k) sum += Accumulator(widen(a[k * kStepA])) * Accumulator(widen(b[k * kStepB]));
  return sum;
}
