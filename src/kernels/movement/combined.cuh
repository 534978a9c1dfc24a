// How updates that meet at one place are combined. NaN wins.
template <class T>
__device__ inline T combined(T a, T b) {
  if constexpr (kReduction == 1) return a + b;
  else if constexpr (kReduction == 2) return a * b;
  else if constexpr (kReduction == 3) return a > b || a != a ? a : b;
  else return a < b || a != a ? a : b;
}
