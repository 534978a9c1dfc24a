// Operands X0 to X6 (absent ones are of type u8 and null) with their places In0 to In6, and the result's, YAt.

struct Operands {
  const X0* x0;
  const X1* x1;
  const X2* x2;
  const X3* x3;
  const X4* x4;
  const X5* x5;
  const X6* x6;
};

/// Coordinates (logical order) of element `at` in memory order of a tensor, and where it lies.
template <class At>
__device__ inline Index coordinates_of(Index at, i64* c) {
  i64 place = 0;
#pragma unroll
  for (int i = At::kRank - 1; i >= 0; --i) {
    const int axis = At::order(i);
    const Index extent = Index(At::extent(axis));
    c[axis] = at % extent;
    at /= extent;
    place += c[axis] * At::stride(axis);
  }
  return Index(place);
}

/// Where an element lies whose coordinates are given.
template <class At>
__device__ inline i64 place_of(const i64* c) {
  i64 place = 0;
#pragma unroll
  for (int i = 0; i < At::kRank; ++i) place += c[i] * At::stride(i);
  return place;
}
template <class At>
__device__ inline i64 place(i64 a) {
  return a * At::stride(0);
}
template <class At>
__device__ inline i64 place(i64 a, i64 b) {
  return a * At::stride(0) + b * At::stride(1);
}
template <class At>
__device__ inline i64 place(i64 a, i64 b, i64 c) {
  return a * At::stride(0) + b * At::stride(1) + c * At::stride(2);
}
template <class At>
__device__ inline i64 place(i64 a, i64 b, i64 c, i64 d) {
  return a * At::stride(0) + b * At::stride(1) + c * At::stride(2) + d * At::stride(3);
}

/// Number of an element in row-major order, from its coordinates.
template <class At>
__device__ inline i64 number_of(const i64* c) {
  i64 number = 0;
#pragma unroll
  for (int i = 0; i < At::kRank; ++i) number = number * At::extent(i) + c[i];
  return number;
}
/// Where element `number` in row-major order lies.
template <class At>
__device__ inline i64 place_of_number(i64 number) {
  i64 place = 0;
#pragma unroll
  for (int i = At::kRank - 1; i >= 0; --i) {
    place += number % At::extent(i) * At::stride(i);
    number /= At::extent(i);
  }
  return place;
}
template <class At>
__device__ inline i64 count_of() {
  i64 count = 1;
#pragma unroll
  for (int i = 0; i < At::kRank; ++i) count *= At::extent(i);
  return count;
}

template <class T>
__device__ inline T clamped(T v, T low, T high) {
  return v < low ? low : v > high ? high : v;
}
__device__ inline i64 floor_of(double v) { return i64(floor(v)); }
