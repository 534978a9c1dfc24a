// Layer and RMS normalization between two products of gemm/hopper.cu without a pass over memory of its own. The product
// that writes rows also writes mean and sum of squared deviations of each kGroup columns of a row; the one that reads them
// joins those of its rows, while the first tiles are on their way, and applies them to its sums:
// sum over k of (a - mean) * inverse * b = inverse * (sum of a * b - mean * sum of b). The sums of B's columns come from
// the planner.

#ifdef STANDARDIZES
#define STANDARDIZES_PARAMETERS , const float2* __restrict__ groups, const float* __restrict__ columns
#define STANDARDIZES_ARGUMENTS , groups, columns
#else
#define STANDARDIZES_PARAMETERS
#define STANDARDIZES_ARGUMENTS
#endif
#ifdef GIVES_MOMENTS
#define GIVES_PARAMETERS , float2* __restrict__ moments
#define GIVES_ARGUMENTS , moments
#else
#define GIVES_PARAMETERS
#define GIVES_ARGUMENTS
#endif
#define GIVEN_ROWS STANDARDIZES_PARAMETERS GIVES_PARAMETERS
#define ROWS_PARAMETERS GIVEN_ROWS WALK_PARAMETERS
#define ROWS_ARGUMENTS STANDARDIZES_ARGUMENTS GIVES_ARGUMENTS WALK_ARGUMENTS

/// The same in all four threads that share a row.
__device__ inline float sum_of_row(float v) {
  v += __shfl_xor_sync(0xffffffffu, v, kPairStep);
  return v + __shfl_xor_sync(0xffffffffu, v, 2 * kPairStep);
}

#ifdef STANDARDIZES
/// Sums of B over k for a thread's columns of a slab; where groups take turns, registers are few.
template <int kSlab>
struct ColumnTerms {
  float2 of[kTurns > 1 ? 1 : kSlab / 8];
  const float* from;
  __device__ void fetch(int column ROWS_PARAMETERS) {
    from = columns + column + pair_lane() * 2;
    if constexpr (!kRms && kTurns == 1) {
#pragma unroll
      for (int j = 0; j < kSlab / 8; ++j) of[j] = *reinterpret_cast<const float2*>(from + j * 8);
    }
  }
  __device__ float2 at(int j) const {
    if constexpr (kTurns > 1) return *reinterpret_cast<const float2*>(from + j * 8);
    else return of[j];
  }
};

/// Mean of a row and its inverse deviation; a thread reads all groups of a row, or the four threads that share the row do.
template <bool kAlone>
__device__ inline float2 terms_of_row(Index row ROWS_PARAMETERS) {
  constexpr int kGroups = kK / kGroup;
  constexpr float kPart = 1.0f / kGroups;
  const float2* from = groups + row * kGroups;
  // Means relative to one of them: their variance is exact where they are large.
  const float shift = from[0].x;
  float sum = 0, squares = 0, within = 0;
#pragma unroll 8
  for (int i = kAlone ? 0 : pair_lane(); i < kGroups; i += kAlone ? 1 : 4) {
    const float2 group = from[i];
    const float step = group.x - shift;
    sum += step;
    squares = fmaf(step, step, squares);
    within += group.y;
  }
  if constexpr (!kAlone) sum = sum_of_row(sum), squares = sum_of_row(squares), within = sum_of_row(within);
  sum *= kPart;
  const float between = fmaxf(squares * kPart - sum * sum, 0.0f);
  const float variance = within * (1.0f / kK) + between, mean = shift + sum;
  return make_float2(mean, 1.0f / sqrtf(variance + (kRms ? mean * mean : 0.0f) + float(kEpsilon)));
}

/// Of a thread's two rows: its lane's, and the one 8 rows behind.
struct RowTerms {
  float mean[2], inverse[2];
  __device__ void fetch(const Index (&row)[2] ROWS_PARAMETERS) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 terms = terms_of_row<false>(row[half] ROWS_ARGUMENTS);
      mean[half] = terms.x, inverse[half] = terms.y;
    }
  }
  template <class Columns>
  __device__ void begin(float (&v)[2], float first, float second, const Columns& columns, int half, int j) const {
    v[0] = first, v[1] = second;
    if constexpr (!kRms) {
      const float2 sums = columns.at(j);
      v[0] = fmaf(-mean[half], sums.x, v[0]);
      v[1] = fmaf(-mean[half], sums.y, v[1]);
    }
    v[0] *= inverse[half], v[1] *= inverse[half];
  }
};
#else
template <int kSlab>
struct ColumnTerms {
  __device__ void fetch(int ROWS_PARAMETERS) {}
};
struct RowTerms {
  __device__ void fetch(const Index (&)[2] ROWS_PARAMETERS) {}
  template <class Columns>
  __device__ void begin(float (&v)[2], float first, float second, const Columns&, int, int) const {
    v[0] = first, v[1] = second;
  }
};
#endif

#ifdef GIVES_MOMENTS
static_assert(kOwn % kGroup == 0 && kN % kGroup == 0, "whole groups");
__device__ inline void widen_pair(f16, u32 pair, float& a, float& b) {
  asm("{\n.reg .f16 low, high;\nmov.b32 {low, high}, %2;\ncvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}"
      : "=f"(a), "=f"(b) : "r"(pair));
}
__device__ inline void widen_pair(bf16, u32 pair, float& a, float& b) {
  a = __uint_as_float(pair << 16), b = __uint_as_float(pair & 0xffff0000u);
}
/// Of a group of columns, as far as a thread holds its two rows: the written values, rounded.
struct GroupMoments {
  float kept[2][kGroup / 4];
  __device__ void take(const float (&v)[2], int half, int j) {
    float(&to)[kGroup / 4] = kept[half];
    const int at = j * 8 % kGroup / 4;
    widen_pair(Y(), pair_of(Y(), v[0], v[1]), to[at], to[at + 1]);
  }
  /// Behind the second row's elements of the group that ends with the slab's 8 columns `j`.
  __device__ void give(const Index (&row)[2], const bool (&exists)[2], int column, int j ROWS_PARAMETERS) {
    if ((j + 1) * 8 % kGroup != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = 0, squares = 0;
#pragma unroll
      for (int i = 0; i < kGroup / 4; ++i) sum += kept[half][i];
      const float mean = sum_of_row(sum) * (1.0f / kGroup);
#pragma unroll
      for (int i = 0; i < kGroup / 4; ++i) squares = fmaf(kept[half][i] - mean, kept[half][i] - mean, squares);
      squares = sum_of_row(squares);
      const int at = column + j * 8;
      if (pair_lane() == 0 && exists[half] && at < kN)
        moments[row[half] * (kN / kGroup) + at / kGroup] = make_float2(mean, squares);
    }
  }
};
#else
struct GroupMoments {
  __device__ void take(const float (&)[2], int, int) {}
  __device__ void give(const Index (&)[2], const bool (&)[2], int, int ROWS_PARAMETERS) {}
};
#endif
