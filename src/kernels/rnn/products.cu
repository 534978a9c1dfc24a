// products[m, n] = sum over k of x[m, k] * w[n, k], in floats, on tensor cores (16-bit floats, sm_80): tiles of kRows by
// kColumns, two rows of warps, the next kDepth of k on their way while these are multiplied.

enum : int { kPitch = kDepth + 8, kStages = 3, kAcross = kThreads / 64 };  // Warps side by side.
enum : int { kPartRows = kRows / 2 / 16, kPartColumns = kColumns / kAcross / 16 };  // Of a warp, in pieces of 16.
enum : int { kStage = (kRows + kColumns) * kPitch };

/// kTile rows of kDepth elements from `k` on; zeros behind the last row and element.
template <int kTile>
__device__ inline void load_tile(X* to, const X* from, i64 first, i64 rows, int k) {
#pragma unroll
  for (int i = threadIdx.x; i < kTile * (kDepth / 8); i += kThreads) {
    const int row = i / (kDepth / 8), column = i % (kDepth / 8) * 8;
    const bool inside = first + row < rows && k + column < kK;
    const X* source = from + (inside ? (first + row) * kK + k + column : 0);
    copy_async(to + row * kPitch + column, source, inside);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    kernel(const X* __restrict__ x, const X* __restrict__ w, float* __restrict__ products) {
  begin_kernel();
  extern __shared__ __align__(16) unsigned char raw[];
  X* stages = reinterpret_cast<X*>(raw);
  const i64 m0 = i64(blockIdx.y) * kRows, n0 = i64(blockIdx.x) * kColumns;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wm = warp / kAcross * (kRows / 2), wn = warp % kAcross * (kColumns / kAcross);
  constexpr int kChunks = (kK + kDepth - 1) / kDepth;
  const auto start = [&](int chunk) {
    if (chunk < kChunks) {
      X* to = stages + chunk % kStages * kStage;
      load_tile<kRows>(to, x, m0, kM, chunk * kDepth);
      load_tile<kColumns>(to + kRows * kPitch, w, n0, kN, chunk * kDepth);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int chunk = 0; chunk < kStages - 1; ++chunk) start(chunk);
  float sums[kPartRows][2 * kPartColumns][4] = {};
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    start(chunk + kStages - 1);
    const X* rows = stages + chunk % kStages * kStage;
    const X* columns = rows + kRows * kPitch;
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      u32 a[kPartRows][4], b[kPartColumns][4];
#pragma unroll
      for (int i = 0; i < kPartRows; ++i)
        load_matrices(a[i], shared_address(rows + (wm + i * 16 + lane % 16) * kPitch + k + lane / 16 * 8));
#pragma unroll
      for (int j = 0; j < kPartColumns; ++j)
        load_matrices(b[j],
                      shared_address(columns + (wn + j * 16 + lane / 16 * 8 + lane % 8) * kPitch + k + lane / 8 % 2 * 8));
#pragma unroll
      for (int i = 0; i < kPartRows; ++i)
#pragma unroll
        for (int j = 0; j < 2 * kPartColumns; ++j)
          multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < kPartRows; ++i)
#pragma unroll
    for (int j = 0; j < 2 * kPartColumns; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const i64 m = m0 + wm + i * 16 + half * 8 + lane / 4, n = n0 + wn + j * 8 + lane % 4 * 2;
        if (m >= kM || n >= kN) continue;
        *reinterpret_cast<float2*>(products + m * kN + n) = make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      }
}
