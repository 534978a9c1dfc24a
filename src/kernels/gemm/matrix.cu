// Matrix products of 16-bit floats on tensor cores (sm_80 and later): tiles of kTileM x kTileN results, kTileK of the
// depth at a time through shared memory, kStages of them on their way. A lies along the depth; B along the depth
// (kBRow == 1) or along the columns.

enum : int { kPieces = kTileK / 8 };  // Of 16 bytes in a row of a tile along the depth.
enum : int { kChunks = (kK + kTileK - 1) / kTileK };
enum : int { kBytesA = kTileM * kTileK * 2, kStageBytes = kBytesA + kTileN * kTileK * 2, kAhead = kStages - 1 };
enum : int { kRowsOfWarp = kTileM / kWarpsM, kColumnsOfWarp = kTileN / kWarpsN };
enum : int { kPitch = kTileN + 8 };  // Floats of a row of results.
enum : int { kPacks = kTileN / 8 };  // Of 8 columns of a tile.

// Where a piece lies in a tile: pieces below each other in different banks.
__device__ inline u32 along_depth(int row, int piece) {
  return row * (kTileK * 2) + ((piece ^ (row >> 1 & (kPieces - 1))) << 4);
}
__device__ inline u32 along_columns(int k, int pack) {
  return k * (kTileN * 2) + ((pack ^ (k & 7)) << 4);
}

template <int kRows, class T>
__device__ inline void fetch_rows(unsigned char* to, const T* from, Index first, Index rows, Index stride, int k0) {
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kPieces; i += kBlock) {
    const int row = i / kPieces, piece = i % kPieces, k = k0 + piece * 8;
    const bool inside = first + Index(row) < rows && k < kK;
    copy_async(to + along_depth(row, piece), from + (inside ? (first + Index(row)) * stride + Index(k) : Index(0)), inside);
  }
}

__device__ inline void fetch(unsigned char* stage, const A* a, const B* b, Index m0, Index n0, int chunk) {
  const int k0 = chunk * kTileK;
  fetch_rows<kTileM>(stage, a, m0, Index(kM), Index(kARow), k0);
  if constexpr (kBRow == 1) {
    fetch_rows<kTileN>(stage + kBytesA, b, n0, Index(kN), Index(kBColumn), k0);
  } else {
#pragma unroll
    for (int i = threadIdx.x; i < kTileK * kPacks; i += kBlock) {
      const int row = i / kPacks, pack = i % kPacks;
      const Index n = n0 + Index(pack * 8);
      const bool inside = k0 + row < kK && n < Index(kN);
      copy_async(stage + kBytesA + along_columns(row, pack), b + (inside ? Index(k0 + row) * Index(kBRow) + n : Index(0)),
                 inside);
    }
  }
}

struct Sums {
  float v[kRowsOfWarp / 16][kColumnsOfWarp / 8][4];
};

__device__ inline void multiply_chunk(Sums& sums, u32 stage) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / kWarpsN * kRowsOfWarp, column = warp % kWarpsN * kColumnsOfWarp;
#pragma unroll
  for (int k = 0; k < kTileK / 16; ++k) {
    u32 a[kRowsOfWarp / 16][4], b[kColumnsOfWarp / 16][4];
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i)
      load_matrices(a[i], stage + along_depth(row + i * 16 + lane % 16, k * 2 + lane / 16));
    // In the order: 8 columns' first and second half of the depth, then the next 8 columns'.
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp / 16; ++j) {
      const int first = column + j * 16 + lane / 16 * 8, half = lane / 8 % 2;
      if constexpr (kBRow == 1)
        load_matrices(b[j], stage + kBytesA + along_depth(first + lane % 8, k * 2 + half));
      else
        load_matrices_transposed(b[j], stage + kBytesA + along_columns(k * 16 + half * 8 + lane % 8, first / 8));
    }
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
      for (int j = 0; j < kColumnsOfWarp / 8; ++j) multiply(sums.v[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

__device__ inline void keep_results(const Sums& sums, float* to) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / kWarpsN * kRowsOfWarp + lane / 4, column = warp % kWarpsN * kColumnsOfWarp + lane % 4 * 2;
  keep_sums<kPitch>(sums.v, to + row * kPitch + column);
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const A* __restrict__ a, const B* __restrict__ b, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  begin_kernel();
  constexpr u32 kTilesN = (kN + kTileN - 1) / kTileN;
  const Index n0 = Index(blockIdx.x % kTilesN) * kTileN, m0 = Index(blockIdx.x / kTilesN) * kTileM;
  for (Index batch = blockIdx.z; batch < Index(kBatches); batch += gridDim.z) {
    const A* from_a = a + locate<ABatchAt>(batch);
    const B* from_b = b + locate<BBatchAt>(batch);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (i < kChunks) fetch(shared + i * kStageBytes, from_a, from_b, m0, n0, i);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    Sums sums = {};
    for (int i = 0; i < kChunks; ++i) {
      asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
      __syncthreads();
      // The stage that was multiplied last.
      if (i + kAhead < kChunks) fetch(shared + (i + kAhead) % kStages * kStageBytes, from_a, from_b, m0, n0, i + kAhead);
      asm volatile("cp.async.commit_group;" ::: "memory");
      multiply_chunk(sums, shared_address(shared) + i % kStages * kStageBytes);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    const float* const results = reinterpret_cast<const float*>(shared);
    keep_results(sums, reinterpret_cast<float*>(shared));
    __syncthreads();
#pragma unroll 2
    for (int i = threadIdx.x; i < kTileM * kPacks; i += kBlock) {
      const int row = i / kPacks, column = i % kPacks * 8;
      const Index m = m0 + Index(row), n = n0 + Index(column);
      if (m >= Index(kM) || n >= Index(kN)) continue;
      const Index at = (batch * Index(kM) + m) * Index(kN) + n;
      if constexpr (kN % 8 == 0) {
        Real v[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = Real(results[row * kPitch + column + j]);
        epilogue<8>(v, at EPILOGUE_ARGUMENTS);
        store_located<YAt, 8>(y, at, v);
      } else {
        for (int j = 0; j < 8 && n + Index(j) < Index(kN); ++j) {
          Real v[1] = {Real(results[row * kPitch + column + j])};
          epilogue<1>(v, Index(at + j) EPILOGUE_ARGUMENTS);
          store_located<YAt, 1>(y, Index(at + j), v);
        }
      }
    }
    __syncthreads();
  }
}
