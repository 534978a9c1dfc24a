// Layer and RMS normalization of rows, or of sums of them, that gives numbers of 8 bits alone, by groups of kGroup threads that
// take kTogether rows at a time. Scale, bias and quantization are a factor and an addend of each column (byte_factors), those
// of two columns of each thread side by side, which keeps them for all of its rows; they are on their way before the launch
// ahead has ended. The next rows are on their way while some are normalized. RowInput is the planner's.

using Numbers = float[kTogether][kSteps][kVector];

__device__ inline Index column_of(int step) { return Index(step * kGroup + threadIdx.x % kGroup) * kVector; }
__device__ inline bool inside(int step) {
  return kLength % (kGroup * kVector) == 0 || column_of(step) < Index(kLength);
}
/// The first element of a row; rows behind the last one work on the first.
__device__ inline Index start_of(Index row) { return row < Index(kRows) ? row * Index(kLength) : Index(0); }

/// Calls f(row, step) for all vectors that the thread has of its rows.
template <class F>
__device__ inline void each_step(F&& f) {
#pragma unroll
  for (int r = 0; r < kTogether; ++r)
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (inside(s)) f(r, s);
}

/// Of a thread's columns, kVector at a time.
struct Columns {
  float4 of[kSteps][kVector / 2];

  __device__ void fetch(const float4* norms) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (inside(s)) {
#pragma unroll
        for (int i = 0; i < kVector / 2; ++i)
          of[s][i] = norms[(s * (kVector / 2) + i) * kGroup + threadIdx.x % kGroup];
      }
  }
  __device__ float factor(int s, int i) const { return i % 2 == 0 ? of[s][i / 2].x : of[s][i / 2].z; }
  __device__ float addend(int s, int i) const { return i % 2 == 0 ? of[s][i / 2].y : of[s][i / 2].w; }
};

/// A column's factor and addend give places between the lowest and the highest integer: clamped with the product, which the
/// compiler would not do, they become the low parts of floats. Floats of 8 bits are clamped as they are rounded.
__device__ inline float placed(float v, float factor, float addend) {
  if constexpr (!kByteIntegers) return fmaf(v, factor, addend);
  asm("fma.rn.ftz.sat.f32 %0, %1, %2, %3;" : "=f"(v) : "f"(v), "f"(factor), "f"(addend));
  return fmaf(v, 255.0f, kByteStart);
}
template <class T>
__device__ inline u32 placed_word(T type, const float* v) {
  if constexpr (!kByteIntegers) return byte_word(type, v);
  const u32 low = __byte_perm(__float_as_uint(v[0]), __float_as_uint(v[1]), 0x0040);
  return __byte_perm(low, __byte_perm(__float_as_uint(v[2]), __float_as_uint(v[3]), 0x0040), 0x5410);
}

/// Of rows with NaN or infinity nothing is a number; integers are 0 there, whatever their zero point.
__device__ inline void store_bytes(Bytes* __restrict__ bytes, Index at, const float (&v)[kVector], bool is_none) {
  Pack<u32, kVector / 4> words;
#pragma unroll
  for (int i = 0; i < kVector; i += 4) words.v[i / 4] = kByteIntegers && is_none ? 0 : placed_word(Bytes(), v + i);
  store_pack<kVector / 4>(reinterpret_cast<u32*>(bytes + locate<BytesAt>(at)), words);
}

/// Sums over each row; `partial` is the block's alone until the next but one.
__device__ inline void add_up(float (&sums)[kTogether], float (*partial)[kTogether]) {
#pragma unroll
  for (int r = 0; r < kTogether; ++r) sums[r] = combine_group<(kGroup < 32 ? kGroup : 32)>(sums[r], Sum());
  if constexpr (kGroup > 32) {
#pragma unroll
    for (int r = 0; r < kTogether; ++r)
      if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][r] = sums[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kTogether; ++r) {
      sums[r] = partial[0][r];
#pragma unroll
      for (int i = 1; i < kGroup / 32; ++i) sums[r] += partial[i][r];
    }
  }
}

/// Less the mean; gives 1 / deviation.
__device__ inline void center(Numbers& v, float (&inverse)[kTogether]) {
  __shared__ float partial[2][kGroup > 32 ? kGroup / 32 : 1][kTogether];
  float sums[kTogether] = {}, squares[kTogether] = {};
  if constexpr (!kRms) {
    each_step([&](int r, int s) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) sums[r] += v[r][s][i];
    });
    add_up(sums, partial[0]);
  } else if constexpr (kGroup > 32) {
    __syncthreads();
  }
  each_step([&](int r, int s) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if constexpr (!kRms) v[r][s][i] = fmaf(sums[r], -1.0f / kLength, v[r][s][i]);
      squares[r] = fmaf(v[r][s][i], v[r][s][i], squares[r]);
    }
  });
  add_up(squares, partial[1]);
#pragma unroll
  for (int r = 0; r < kTogether; ++r) inverse[r] = rsqrtf(fmaf(squares[r], 1.0f / kLength, float(kEpsilon)));
}

extern "C" __global__ void __launch_bounds__(kBlock, kBlocksEach)
    kernel(Bytes* __restrict__ bytes, const float4* __restrict__ norms INPUT_PARAMETERS) {
  release_next();
  Columns columns;
  columns.fetch(norms);
  begin_kernel();
  const Index count = Index(gridDim.x) * (kRowsPerBlock * kTogether);
  Index number = (Index(blockIdx.x) * kRowsPerBlock + threadIdx.x / kGroup) * kTogether;
  RowInput next[kTogether][kSteps];
  const auto fetch = [&] {
    each_step([&](int r, int s) { next[r][s].fetch(start_of(number + r) + column_of(s) INPUT_ARGUMENTS); });
  };
  fetch();
  // Blocks take as many turns as the first one: where a row has several warps, all of a block meet.
  for (Index turn = 0; turn < Index(kRows); turn += count) {
    Numbers v;
    float inverse[kTogether];
    const Index first = number;
    each_step([&](int r, int s) {
      next[r][s].take(v[r][s], start_of(first + r) + column_of(s), first + r < Index(kRows) INPUT_ARGUMENTS);
    });
    number += count;
    if (turn + count < Index(kRows)) fetch();
    center(v, inverse);
    each_step([&](int r, int s) {
      if (first + r >= Index(kRows)) return;
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        v[r][s][i] = placed(v[r][s][i] * inverse[r], columns.factor(s, i), columns.addend(s, i));
      store_bytes(bytes, start_of(first + r) + column_of(s), v[r][s], inverse[r] != inverse[r]);
    });
  }
}
