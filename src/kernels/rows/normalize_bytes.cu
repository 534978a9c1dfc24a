// Layer and RMS normalization of rows, or of sums of them, that gives numbers of 8 bits alone. Scale, bias and quantization are
// a factor and an addend of each column (byte_factors), those of two columns of each thread side by side, which keeps them for all
// of its rows; they are on their way before the launch ahead has ended. The next row is on its way while one is normalized. RowInput is the planner's.

/// Of a thread's columns, kVector at a time.
struct Columns {
  float4 of[kSteps][kVector / 2];

  __device__ void fetch(const Row& row, const float4* norms) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (row.inside(s)) {
#pragma unroll
        for (int i = 0; i < kVector / 2; ++i) of[s][i] = norms[(s * (kVector / 2) + i) * kGroup + row.lane];
      }
  }
  __device__ float factor(int s, int i) const { return i % 2 == 0 ? of[s][i / 2].x : of[s][i / 2].z; }
  __device__ float addend(int s, int i) const { return i % 2 == 0 ? of[s][i / 2].y : of[s][i / 2].w; }
};

/// Of rows with NaN or infinity nothing is a number; integers are 0 there, whatever their zero point.
__device__ inline void store_bytes(Bytes* __restrict__ bytes, Index at, const float (&v)[kVector], bool is_none) {
  Pack<u32, kVector / 4> words;
#pragma unroll
  for (int i = 0; i < kVector; i += 4) words.v[i / 4] = kByteIntegers && is_none ? 0 : byte_word(Bytes(), v + i);
  store_pack<kVector / 4>(reinterpret_cast<u32*>(bytes + locate<BytesAt>(at)), words);
}

/// Less the mean; gives 1 / deviation.
__device__ inline float center(float (&v)[kSteps][kVector], const Row& row) {
  float sum = 0, squares = 0;
  if constexpr (!kRms) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (row.inside(s)) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) sum += v[s][i];
      }
    sum = combine_group<kGroup>(sum, Sum()) * (1.0f / kLength);
  }
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    if (row.inside(s)) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if constexpr (!kRms) v[s][i] -= sum;
        squares = fmaf(v[s][i], v[s][i], squares);
      }
    }
  return rsqrtf(fmaf(combine_group<kGroup>(squares, Sum()), 1.0f / kLength, float(kEpsilon)));
}

extern "C" __global__ void __launch_bounds__(kBlock, kBlocksEach)
    kernel(Bytes* __restrict__ bytes, const float4* __restrict__ norms INPUT_PARAMETERS) {
  release_next();
  Row row;
  Columns columns;
  columns.fetch(row, norms);
  begin_kernel();
  const Index count = Index(gridDim.x) * kRowsPerBlock;
  Index number = Index(blockIdx.x) * kRowsPerBlock + threadIdx.x / kGroup;
  RowInput next[kSteps];
  const auto fetch = [&] {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (row.inside(s)) next[s].fetch(row.first + row.column(s) INPUT_ARGUMENTS);
  };
  fetch();
  // Blocks take as many turns as the first one: where a row has several warps, all of a block meet.
  for (Index turn = 0; turn < Index(kRows); turn += count) {
    float v[kSteps][kVector];
    const Index first = row.first;
    const bool active = row.active;
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (row.inside(s)) next[s].take(v[s], first + row.column(s), active INPUT_ARGUMENTS);
    number += count;
    row.active = number < Index(kRows);
    row.first = row.active ? number * Index(kLength) : Index(0);
    if (turn + count < Index(kRows)) fetch();
    const float inverse = center(v, row);
    if (!active) continue;
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (row.inside(s)) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) v[s][i] = fmaf(v[s][i] * inverse, columns.factor(s, i), columns.addend(s, i));
        store_bytes(bytes, first + row.column(s), v[s], inverse != inverse);
      }
  }
}
