// The flag of a slice: its condition.
#define FLAG_PARAMETERS const X1* __restrict__ x1
#define FLAG_ARGUMENTS x1
__device__ inline int flag(i64 i, const X1* x1) {
  const auto v = widen(x1[place_of_number<In1>(i)]);
  return v != decltype(v)(0);
}
