// The flag of an element: whether it is not zero.
#define FLAG_PARAMETERS const X0* __restrict__ x0
#define FLAG_ARGUMENTS x0
__device__ inline int flag(i64 i, const X0* x0) {
  const auto v = widen(x0[place_of_number<In0>(i)]);
  return v != decltype(v)(0);
}
