// Matrix products of any types and strides: tiles of 64x64 results, 4x4 a thread, operands through shared memory.

enum : int { kTileM = 64, kTileN = 64, kTileK = 16 };

extern "C" __global__ void __launch_bounds__(256)
    kernel(const A* __restrict__ a, const B* __restrict__ b, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  __shared__ Accumulator tile_a[kTileK][kTileM + 4], tile_b[kTileK][kTileN + 4];
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  constexpr u32 kTilesN = (kN + kTileN - 1) / kTileN;
  const Index n0 = Index(blockIdx.x % kTilesN) * kTileN, m0 = Index(blockIdx.x / kTilesN) * kTileM;
  for (Index batch = blockIdx.z; batch < Index(kBatches); batch += gridDim.z) {
    const A* from_a = a + locate<ABatchAt>(batch);
    const B* from_b = b + locate<BBatchAt>(batch);
    Accumulator sums[4][4] = {};
    for (int k0 = 0; k0 < kK; k0 += kTileK) {
#pragma unroll
      for (int i = threadIdx.x; i < kTileM * kTileK; i += 256) {
        // Threads side by side read along the axis that is contiguous.
        const int m = kAColumn == 1 ? i / kTileK : i % kTileM, k = kAColumn == 1 ? i % kTileK : i / kTileM;
        const bool inside = m0 + m < Index(kM) && k0 + k < kK;
        tile_a[k][m] =
            inside ? Accumulator(widen(from_a[(m0 + m) * Index(kARow) + Index(k0 + k) * Index(kAColumn)])) : Accumulator(0);
      }
#pragma unroll
      for (int i = threadIdx.x; i < kTileN * kTileK; i += 256) {
        const int n = kBRow == 1 ? i / kTileK : i % kTileN, k = kBRow == 1 ? i % kTileK : i / kTileN;
        const bool inside = n0 + n < Index(kN) && k0 + k < kK;
        tile_b[k][n] =
            inside ? Accumulator(widen(from_b[Index(k0 + k) * Index(kBRow) + (n0 + n) * Index(kBColumn)])) : Accumulator(0);
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kTileK; ++k) {
        Accumulator left[4], right[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          left[i] = tile_a[k][row + i];
          right[i] = tile_b[k][column + i];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[i][j] += left[i] * right[j];
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Index m = m0 + row + i, n = n0 + column;
      if (m >= Index(kM) || n >= Index(kN)) continue;
      const Index at = (batch * Index(kM) + m) * Index(kN) + n;
      if constexpr (kN % 4 == 0) {
        Real v[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) v[j] = Real(sums[i][j]);
        epilogue<4>(v, at EPILOGUE_ARGUMENTS);
        store_located<YAt, 4>(y, at, v);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n + j >= Index(kN)) break;
          Real v[1] = {Real(sums[i][j])};
          epilogue<1>(v, Index(at + j) EPILOGUE_ARGUMENTS);
          store_located<YAt, 1>(y, Index(at + j), v);
        }
      }
    }
  }
}
