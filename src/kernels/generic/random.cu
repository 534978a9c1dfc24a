// Numbers that depend on seed and position alone. kWhat: 0 uniform, 1 normal, 2 zero or one by probability, 3 classes.

__device__ inline u64 mix(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// In [0, 1), number `index` of the stream.
__device__ inline double uniform(i64 index) {
  return double(mix(mix(u64(kSeed)) ^ u64(index)) >> 11) * (1.0 / 9007199254740992.0);
}

__device__ inline double normal(i64 index) {
  return sqrt(-2 * log(1 - uniform(2 * index))) * cospi(2 * uniform(2 * index + 1));
}

#if RANDOM_CLASSES
__device__ inline i64 drawn(i64 row, i64 index, const Operands& o) {
  constexpr i64 kClasses = In0::extent(1);
  double top = double(widen(o.x0[place<In0>(row, 0)])), sum = 0;
  for (i64 k = 1; k < kClasses; ++k) {
    const double v = double(widen(o.x0[place<In0>(row, k)]));
    top = top < v ? v : top;
  }
  for (i64 k = 0; k < kClasses; ++k) sum += exp(double(widen(o.x0[place<In0>(row, k)])) - top);
  const double at = uniform(index) * sum;
  sum = 0;
  for (i64 k = 0; k + 1 < kClasses; ++k) {
    sum += exp(double(widen(o.x0[place<In0>(row, k)])) - top);
    if (sum > at) return k;
  }
  return kClasses - 1;
}
#endif

__device__ inline Result element(i64* c, const Operands& o) {
  const i64 index = number_of<YAt>(c);
#if RANDOM_CLASSES
  return Result(drawn(c[0], index, o));
#elif RANDOM_CHANCE
  return Result(uniform(index) < double(widen(o.x0[place_of<In0>(c)])) ? 1 : 0);
#elif RANDOM_NORMAL
  return Result(kA + kB * normal(index));
#else
  return Result(kA + (kB - kA) * uniform(index));
#endif
}
