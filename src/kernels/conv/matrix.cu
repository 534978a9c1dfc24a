// Convolutions of channels-last images as products of matrices on tensor cores (16-bit floats): rows are pixels of the
// result, columns its channels, and the depth runs over taps and channels of the input, which are gathered on their way
// to shared memory. kSplits blocks of a cluster share the depth and add up through each other's shared memory.
// Groups of few channels are taken together, kBundles times as many as fill a tile: kN and kC are the channels of such a
// bundle, whose weights are zero between channels of different groups.
// Weights: [kBundles][kN][kDepth], taps outside channels, filled up with zeros to a multiple of kTileK.

enum : int { kTaps2 = kKernel2, kDepth = (kK + kTileK - 1) / kTileK * kTileK, kChunks = kDepth / kTileK };
enum : int { kPieces = kTileK / 8 };  // Of 16 bytes in a row of a tile.
enum : int { kRowBytes = kTileK * 2, kBytesA = kTileM * kRowBytes, kBytesB = kTileN * kRowBytes };
enum : int { kStageBytes = kBytesA + kBytesB };
enum : int { kRowsAtOnce = kBlock / kPieces };
enum : int { kLoadsA = (kTileM + kRowsAtOnce - 1) / kRowsAtOnce, kLoadsB = (kTileN + kRowsAtOnce - 1) / kRowsAtOnce };
// Pixels of the result are those of the input: pads may also lie behind the image alone.
enum : bool { kPlain = kKernel1 * kKernel2 == 1 && kBegin1 == 0 && kBegin2 == 0 && kStride1 == 1 && kStride2 == 1 &&
                        kOut1 == kIn1 && kOut2 == kIn2 };
enum : int { kPitch = kTileN + 8 };  // Floats of a row of results.
enum : int { kTilesN = (kN + kTileN - 1) / kTileN };  // Of a bundle.

// Where a piece lies in a tile: pieces of rows below each other in different banks.
__device__ inline u32 place(int row, int piece) {
  if constexpr (kPieces == 8) return row * kRowBytes + ((piece ^ (row & 7)) << 4);
  else return row * kRowBytes + ((piece ^ (row >> 1 & 3)) << 4);
}
__device__ inline void fetch(u32 to, const void* from, bool inside) {
  const int bytes = inside ? 16 : 0;
#if CACHE_IN_L1
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#endif
}

// A thread's part of the input: one piece of some rows of each chunk.
struct InputRows {
  int offset[kLoadsA], place1[kLoadsA], place2[kLoadsA];

  __device__ inline void locate(int first) {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const int m = first + i * kRowsAtOnce;
      if constexpr (kPlain) {
        offset[i] = m * X2;
        place1[i] = m < kM ? 0 : -1;
      } else {
        const int o2 = m % kOut2, o1 = m / kOut2 % kOut1, image = m / (kOut2 * kOut1);
        place1[i] = m < kM ? o1 * kStride1 - kBegin1 : -(1 << 24);
        place2[i] = o2 * kStride2 - kBegin2;
        offset[i] = image * XN + (o1 * kStride1 - kBegin1) * X1 + place2[i] * X2;
      }
    }
  }
  __device__ inline void fetch_chunk(u32 to, const X* x, int chunk, int row, int piece) const {
    const int k = chunk * kTileK + piece * 8, tap = k / kC, c = k % kC;
    const int step1 = tap / kTaps2 * kDilation1, step2 = tap % kTaps2 * kDilation2;
    const int step = kPlain ? k : step1 * X1 + step2 * X2 + c;
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      bool inside = kK % kTileK == 0 || k < kK;
      if constexpr (kPlain)
        inside = inside && place1[i] >= 0;
      else
        inside = inside && unsigned(place1[i] + step1) < unsigned(kIn1) && unsigned(place2[i] + step2) < unsigned(kIn2);
      if (kTileM % kRowsAtOnce == 0 || row + i * kRowsAtOnce < kTileM)
        fetch(to + place(row + i * kRowsAtOnce, piece), x + (inside ? offset[i] + step : 0), inside);
    }
  }
};

__device__ inline void fetch_weights(u32 to, const X* weights, int chunk, int n0, int row, int piece) {
#pragma unroll
  for (int i = 0; i < kLoadsB; ++i) {
    const int at = row + i * kRowsAtOnce;
    const bool inside = kN % kTileN == 0 || n0 + at < kN;
    if (kTileN % kRowsAtOnce == 0 || at < kTileN)
      fetch(to + place(at, piece), weights + (inside ? (n0 + at) * kDepth + chunk * kTileK + piece * 8 : 0), inside);
  }
}

#if WARP_GROUPS
// A group of 4 warps takes 64 rows and all columns.
enum : int { kRowsOfWarp = 16, kColumnsOfWarp = kTileN };
struct Sums {
  float v[1][kTileN / 8][4];
};
__device__ inline u64 matrix_descriptor(u32 address) {
  return u64(address >> 4 & 0x3fff) | u64(1) << 16 | u64(8 * kRowBytes >> 4) << 32 | u64(kPieces == 8 ? 1 : 2) << 62;
}
__device__ inline void multiply_chunk(Sums& sums, u32 stage) {
  const u64 a = matrix_descriptor(stage + threadIdx.x / 128 * (64 * kRowBytes)), b = matrix_descriptor(stage + kBytesA);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < kSteps; ++k) multiply_group(sums.v[0], a + 2 * k, b + 2 * k);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ inline void wait_products(Sums& sums) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#pragma unroll
  for (int j = 0; j < kTileN / 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums.v[0][j][i]));
}
#else
enum : int { kRowsOfWarp = kTileM / kWarpsM, kColumnsOfWarp = kTileN / kWarpsN };
struct Sums {
  float v[kRowsOfWarp / 16][kColumnsOfWarp / 8][4];
};
__device__ inline void multiply_chunk(Sums& sums, u32 stage) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / kWarpsN * kRowsOfWarp + lane % 16;
  const int column = warp % kWarpsN * kColumnsOfWarp + lane / 16 * 8 + lane % 8;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    u32 a[kRowsOfWarp / 16][4], b[kColumnsOfWarp / 16][4];
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i) load_matrices(a[i], stage + place(row + i * 16, k * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp / 16; ++j)
      load_matrices(b[j], stage + kBytesA + place(column + j * 16, k * 2 + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
      for (int j = 0; j < kColumnsOfWarp / 8; ++j) multiply(sums.v[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}
#endif

__device__ inline void meet_cluster() {
#if CLUSTER
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
__device__ inline float4 read_results(u32 address, int rank) {
  float4 v;
#if CLUSTER
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(there) : "memory");
#else
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
#endif
  return v;
}

__device__ inline void keep_results(const Sums& sums, float* to) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#if WARP_GROUPS
  const int row = warp * 16 + lane / 4, column = lane % 4 * 2;
#else
  const int row = warp / kWarpsN * kRowsOfWarp + lane / 4, column = warp % kWarpsN * kColumnsOfWarp + lane % 4 * 2;
#endif
  keep_sums<kPitch>(sums.v, to + row * kPitch + column);
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const X* __restrict__ weights, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 base = shared_address(shared);
  const int split = blockIdx.x % kSplits, tile = blockIdx.x / kSplits;
  const int m0 = tile / (kTilesN * kBundles) * kTileM, n0 = tile % kTilesN * kTileN;
  const int bundle = kBundles == 1 ? 0 : tile / kTilesN % kBundles;
  x += bundle * kC;
  weights += bundle * kN * kDepth;
  const int begin = kChunks * split / kSplits, count = kChunks * (split + 1) / kSplits - begin;
  const int row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
  // Weights do not wait for the kernel before.
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (i < count) fetch_weights(base + i * kStageBytes + kBytesA, weights, begin + i, n0, row, piece);
  InputRows rows;
  rows.locate(m0 + row);
  begin_kernel();
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    if (i < count) rows.fetch_chunk(base + i * kStageBytes, x, begin + i, row, piece);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  Sums sums;
#pragma unroll
  for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp / 8; ++j)
#pragma unroll
      for (int k = 0; k < 4; ++k) sums.v[i][j][k] = 0;
  u32 stage = 0, next = kAhead;
  for (int i = 0; i < count; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
#if WARP_GROUPS
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
#if WARP_GROUPS
    multiply_chunk(sums, base + stage * kStageBytes);
#endif
    if (i + kAhead < count) {
      fetch_weights(base + next * kStageBytes + kBytesA, weights, begin + i + kAhead, n0, row, piece);
      rows.fetch_chunk(base + next * kStageBytes, x, begin + i + kAhead, row, piece);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
#if WARP_GROUPS
    wait_products<1>(sums);
#else
    multiply_chunk(sums, base + stage * kStageBytes);
#endif
    stage = stage + 1 == kStages ? 0 : stage + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
#if WARP_GROUPS
  wait_products<0>(sums);
#endif
  __syncthreads();
  keep_results(sums, reinterpret_cast<float*>(shared));
  meet_cluster();
  // Each block of the cluster finishes a part of the rows, 8 channels a thread.
  constexpr int kShare = kTileM / kSplits, kPacks = kTileN / 8;
#pragma unroll 2
  for (int i = threadIdx.x; i < kShare * kPacks; i += kBlock) {
    const int r = split * kShare + i / kPacks, c = i % kPacks * 8, m = m0 + r, n = n0 + c;
    if (m >= kM || n >= kN) continue;
    float v[8] = {};
#pragma unroll
    for (int s = 0; s < kSplits; ++s) {
      const u32 at = base + (r * kPitch + c) * 4;
      const float4 low = read_results(at, s), high = read_results(at + 16, s);
      v[0] += low.x, v[1] += low.y, v[2] += low.z, v[3] += low.w;
      v[4] += high.x, v[5] += high.y, v[6] += high.z, v[7] += high.w;
    }
    const Index at = Index(m) * Index(kN * kBundles) + Index(bundle * kN + n);
    epilogue<8>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, 8>(y, at, v);
  }
#if CLUSTER
  meet_cluster();  // No block exits while others read.
#endif
}
