// products[m, n] = sum over k of x[m, k] * w[n, k], in floats, on tensor cores (16-bit floats, sm_80): tiles of 64x64, a
// warp 32x32 of it, the next 32 of k on their way while these are multiplied.

constexpr int kTile = 64, kDepth = 32, kPitch = kDepth + 8, kStages = 3;

/// 64 rows of kDepth elements from `k` on; zeros behind the last row and element.
__device__ inline void load_tile(X (*to)[kPitch], const X* from, i64 first, i64 rows, int k) {
#pragma unroll
  for (int i = threadIdx.x; i < kTile * (kDepth / 8); i += 128) {
    const int row = i / (kDepth / 8), column = i % (kDepth / 8) * 8;
    const bool inside = first + row < rows && k + column < kK;
    const X* source = from + (inside ? (first + row) * kK + k + column : 0);
    copy_async(&to[row][column], source, inside);
  }
}

extern "C" __global__ void __launch_bounds__(128)
    kernel(const X* __restrict__ x, const X* __restrict__ w, float* __restrict__ products) {
  begin_kernel();
  __shared__ __align__(16) X rows[kStages][kTile][kPitch], columns[kStages][kTile][kPitch];
  const i64 m0 = i64(blockIdx.y) * kTile, n0 = i64(blockIdx.x) * kTile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
  constexpr int kChunks = (kK + kDepth - 1) / kDepth;
  const auto start = [&](int chunk) {
    if (chunk < kChunks) {
      load_tile(rows[chunk % kStages], x, m0, kM, chunk * kDepth);
      load_tile(columns[chunk % kStages], w, n0, kN, chunk * kDepth);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int chunk = 0; chunk < kStages - 1; ++chunk) start(chunk);
  float sums[2][4][4] = {};
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    start(chunk + kStages - 1);
    const int stage = chunk % kStages;
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      u32 a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices(a[i], shared_address(&rows[stage][wm + i * 16 + lane % 16][k + lane / 16 * 8]));
        load_matrices(b[i], shared_address(&columns[stage][wn + i * 16 + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 8]));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 m = m0 + wm + i * 16 + half * 8 + lane / 4, n = n0 + wn + j * 8 + lane % 4 * 2;
        if (m >= kM || n >= kN) continue;
        *reinterpret_cast<float2*>(products + m * kN + n) = make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      }
}
