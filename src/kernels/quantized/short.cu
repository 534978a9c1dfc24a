// Quantized regions of one tap and few channels on tensor cores (sm_80; floats of 8 bits sm_89), whose rows lie behind each
// other: memory decides their time. A warp has the weights of its columns in registers and takes 16 rows after the other,
// which go from memory to registers and back, past shared memory; the next rows are on their way while these are multiplied.
// Weights: for each 8 places of columns and 32 of the depth two words a thread, those of a thread behind each other. Columns
// are in the order of threads, each of which has kRun adjacent ones, and the depth is in the order of a thread's loads.

enum : int { kTileN = kSlabs * kSlab, kRun = kSlab / 4, kGroups = kTileN / 8 };
// Of a thread: loads of a row, and matrices of 32 along the depth.
enum : int { kLoads = (kC + kWords * 16 - 1) / (kWords * 16), kSteps = (kLoads * kWords + 1) / 2 };

struct Rows {
  u32 words[2][kSteps * 2];  // Of rows lane / 4 and lane / 4 + 8.

  __device__ void load(const X* __restrict__ x, int first) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + lane / 4 + half * 8;
      const u32* from = reinterpret_cast<const u32*>(x + Index(row) * Index(kC)) + lane % 4 * kWords;
#pragma unroll
      for (int i = 0; i < kSteps * 2; ++i) words[half][i] = 0;
      if (row >= kM) continue;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if ((i + 1) * kWords * 16 > kC && i * kWords * 16 + lane % 4 * kWords * 4 >= kC) continue;
        const Pack<u32, kWords> pack = load_pack<kWords>(from + i * kWords * 4);
#pragma unroll
        for (int k = 0; k < kWords; ++k) words[half][i * kWords + k] = pack.v[k];
      }
    }
  }
};

__device__ inline int column_of(int slab) { return blockIdx.y * kTileN + slab * kSlab + threadIdx.x % 4 * kRun; }

/// Sums below 2^22 lie beside the bits of 1.5 * 2^23: conversions are slow.
__device__ inline float number_of(float sum) { return sum; }
__device__ inline float number_of(int sum) { return kSmallSums ? __int_as_float(sum) - 12582912.0f : float(sum); }

struct Columns {
  uint2 weights[kGroups][kSteps];
  Accumulator start[kZero != 0 ? kGroups : 1][2];

  __device__ void fetch(const uint2* __restrict__ from, const int* __restrict__ shifts) {
#pragma unroll
    for (int j = 0; j < kGroups; ++j)
#pragma unroll
      for (int s = 0; s < kSteps; ++s)
        weights[j][s] = from[((blockIdx.y * kGroups + j) * kSteps + s) * 32 + threadIdx.x % 32];
#pragma unroll
    for (int j = 0; j < kGroups; ++j)
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        if (kZero == 0 && j > 0) continue;
        start[j][k] = kSmallSums ? 0x4b400000 : 0;
        if constexpr (kZero != 0) start[j][k] -= shifts[column_of(j / (kSlab / 8)) + j % (kSlab / 8) * 2 + k];
      }
  }
};

__device__ inline void take_rows(const Rows& rows, const Columns& columns, Y* y, const float4* factors, int first EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    Accumulator sums[kSlab / 8][4];
#pragma unroll
    for (int j = 0; j < kSlab / 8; ++j) {
      const int group = slab * (kSlab / 8) + j;
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[j][k] = columns.start[kZero != 0 ? group : 0][k % 2];
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const u32 a[4] = {rows.words[0][2 * s], rows.words[1][2 * s], rows.words[0][2 * s + 1], rows.words[1][2 * s + 1]};
        multiply_bytes(sums[j], a, columns.weights[group][s].x, columns.weights[group][s].y);
      }
    }
    const int column = column_of(slab);
    if (kN % kTileN != 0 && column >= kN) continue;
    float4 factor[kRun / 2];
#pragma unroll
    for (int j = 0; j < kRun / 2; ++j) factor[j] = factors[column / 2 + j];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + threadIdx.x % 32 / 4 + half * 8;
      float v[kRun];
#pragma unroll
      for (int j = 0; j < kRun / 2; ++j) {
        v[2 * j] = fmaf(number_of(sums[j][2 * half]), factor[j].x, factor[j].y);
        v[2 * j + 1] = fmaf(number_of(sums[j][2 * half + 1]), factor[j].z, factor[j].w);
      }
      if (row >= kM) continue;
      const Index at = Index(row) * Index(kN) + column;
      epilogue<kRun>(v, at EPILOGUE_ARGUMENTS);
      store_run<kRun>(y, at, v);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock, kBlocksEach)
    kernel(const X* __restrict__ x, const uint2* __restrict__ weights, Y* __restrict__ y, const float4* __restrict__ factors,
           const int* __restrict__ shifts EPILOGUE_PARAMETERS) {
  Columns columns;
  columns.fetch(weights, shifts);
  begin_kernel();
  const int step = gridDim.x * (kBlock / 32) * 16;
  int first = (blockIdx.x * (kBlock / 32) + threadIdx.x / 32) * 16;
  Rows rows;
  rows.load(x, first);
  for (; first < kM; first += step) {
    Rows next;
    next.load(x, first + step);
    take_rows(rows, columns, y, factors, first EPILOGUE_ARGUMENTS);
    rows = next;
  }
}
