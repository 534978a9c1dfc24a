// In the places of gemm/hopper_moments.cu: sums of products of 8-bit numbers become reals, times the scales of both
// operands, plus the bias, one of each a column. Where the activations have a zero point, the sum of what it added is taken
// off first: one number a column, or one a column and kind of pixel where taps may lie in the border, whose bytes are 0.

#if SHIFTED
#define SHIFT_PARAMETERS , const int* __restrict__ shifts
#define SHIFT_ARGUMENTS , shifts
#else
#define SHIFT_PARAMETERS
#define SHIFT_ARGUMENTS
#endif
#define GIVEN_ROWS , const float4* __restrict__ factors SHIFT_PARAMETERS
#define ROWS_PARAMETERS GIVEN_ROWS WALK_PARAMETERS
#define ROWS_ARGUMENTS , factors SHIFT_ARGUMENTS WALK_ARGUMENTS

/// Of a thread's pairs of columns: scale and bias of each. Pairs are kPairStep apart. Where groups take turns, registers
/// are few.
template <int kSlab>
struct ColumnTerms {
  enum : int { kPairs = kInRuns ? kSlab / 2 : kSlab / 8, kPairStep = kInRuns ? 1 : 4 };
  float4 of[kTurns > 1 ? 1 : kPairs];
  const float4* from;
#if SHIFTED
  const int* shift;
#endif
  __device__ void fetch(int column ROWS_PARAMETERS) { fetch_run(column + threadIdx.x % 4 * 2 ROWS_ARGUMENTS); }
  __device__ void fetch_run(int column ROWS_PARAMETERS) {
    from = factors + column / 2;
#if SHIFTED
    shift = shifts + column;
#endif
    if constexpr (kTurns == 1) {
#pragma unroll
      for (int j = 0; j < kPairs; ++j) of[j] = from[j * kPairStep];
    }
  }
  __device__ float4 at(int j) const {
    if constexpr (kTurns > 1) return from[j * kPairStep];
    else return of[j];
  }
};

/// SUMS: 0 any, 1 below 2^22, which the bits of a float hold beside those of 1.5 * 2^23, 2 likewise, with that number
/// taken off by the column's bias.
__device__ inline float number_of(float sum) { return sum; }
__device__ inline float number_of(int sum) {
#if SUMS == 0
  return float(sum);
#elif SUMS == 1
  return __int_as_float(sum + 0x4b400000) - 12582912.0f;
#else
  return __int_as_float(sum + 0x4b400000);
#endif
}

/// Of a thread's two rows: which kind of pixel they are.
struct RowTerms {
  int kind[2] = {};
  __device__ void fetch(const Index (&row)[2] ROWS_PARAMETERS) {
#if SHIFTED
    if constexpr (kKinds > 1) {
#pragma unroll
      for (int half = 0; half < 2; ++half) kind[half] = kind_of(row[half]);
    }
#endif
  }
  template <class Columns>
  __device__ void begin(float (&v)[2], Accumulator first, Accumulator second, const Columns& columns, int half, int j) const {
#if SHIFTED
    const int2 shift = *reinterpret_cast<const int2*>(columns.shift + (kKinds > 1 ? kind[half] * kPaddedN : 0) + j * 2 * Columns::kPairStep);
    first -= shift.x, second -= shift.y;
#endif
    const float4 factor = columns.at(j);
    v[0] = fmaf(number_of(first), factor.x, factor.y);
    v[1] = fmaf(number_of(second), factor.z, factor.w);
  }
};
struct GroupMoments {
  __device__ void take(const float (&)[2], int, int) {}
  __device__ void give(const Index (&)[2], const bool (&)[2], int, int ROWS_PARAMETERS) {}
};
