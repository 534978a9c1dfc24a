// Conversion of the element type: integers from reals truncate and saturate (wrap below 8 bits), integers from integers
// wrap.

__device__ inline Result element(i64* c, const Operands& o) {
  const auto v = widen(o.x0[place_of<In0>(c)]);
#if CAST_TRUNCATES
  return saturate<Result>(double(v), kLow, kHigh);
#elif CAST_TO_BOOL
  return v != decltype(v)(0);
#else
  return Result(v);
#endif
}
