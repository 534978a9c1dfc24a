// Convolutions in f32 by fused multiply-adds of single lanes, where products may not be rounded for tensor cores: rows are
// pixels of the result, columns its channels, and the depth runs over taps and channels of the input, which are gathered on
// their way to shared memory. kSplits blocks of a cluster share the depth and add up through each other's shared memory.
// Weights: [kGroups][kDepth][kColumns], taps outside channels, filled up with zeros: the depth to a multiple of kTileK, columns
// to one of 4.

enum : int { kTaps2 = kKernel2, kDepth = (kK + kTileK - 1) / kTileK * kTileK, kChunks = kDepth / kTileK };
enum : int { kColumns = (kN + 3) / 4 * 4, kTilesN = (kColumns + kTileN - 1) / kTileN };
enum : int { kPitchX = kTileK + 4, kFloatsX = kTileM * kPitchX, kStageFloats = kFloatsX + kTileK * kTileN };
enum : int { kPieces = kTileK / kVector, kRowsAtOnce = kBlock / kPieces };
enum : int { kLoadsX = (kTileM + kRowsAtOnce - 1) / kRowsAtOnce };
enum : int { kPiecesW = kTileN / 4, kLoadsW = (kTileK * kPiecesW + kBlock - 1) / kBlock };
enum : int { kPitch = kTileN + 4 };  // Floats of a row of results.
// A warp has 4 by 8 lanes. Each has kLaneRows rows and kQuads times 4 columns, at distances that make lanes read different
// banks.
enum : int { kLaneRows = 8, kWarpRows = 4 * kLaneRows, kWarpColumns = 32 * kQuads, kWarpsN = kTileN / kWarpColumns };

template <int kBytes>
__device__ inline void fetch(float* to, const float* from, bool inside) {
  const u32 address = shared_address(to);
  const int bytes = inside ? kBytes : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(kBytes), "r"(bytes) : "memory");
}

// A thread's part of the input: one piece of some rows of each chunk.
struct InputRows {
  int offset[kLoadsX], place1[kLoadsX], place2[kLoadsX];

  __device__ inline void locate(int first) {
#pragma unroll
    for (int i = 0; i < kLoadsX; ++i) {
      const int m = first + i * kRowsAtOnce;
      const int o2 = m % kOut2, o1 = m / kOut2 % kOut1, image = m / (kOut2 * kOut1);
      place1[i] = m < kM ? o1 * kStride1 - kBegin1 : -(1 << 24);
      place2[i] = o2 * kStride2 - kBegin2;
      offset[i] = m < kM ? image * XN + place1[i] * X1 + place2[i] * X2 : 0;
    }
  }
  __device__ inline void fetch_chunk(float* to, const float* x, int chunk, int row, int piece) const {
    const int k = chunk * kTileK + piece * kVector, tap = k / kC, c = k % kC;
    const int step1 = tap / kTaps2 * kDilation1, step2 = tap % kTaps2 * kDilation2;
    const int step = step1 * X1 + step2 * X2 + c * XC;
#pragma unroll
    for (int i = 0; i < kLoadsX; ++i) {
      const bool inside = (kK % kTileK == 0 || k < kK) && unsigned(place1[i] + step1) < unsigned(kIn1) &&
                          unsigned(place2[i] + step2) < unsigned(kIn2);
      const int at = row + i * kRowsAtOnce;
      if (kTileM % kRowsAtOnce == 0 || at < kTileM)
        fetch<4 * kVector>(to + at * kPitchX + piece * kVector, x + (inside ? offset[i] + step : 0), inside);
    }
  }
};

__device__ inline void fetch_weights(float* to, const float* weights, int chunk, int n0) {
#pragma unroll
  for (int i = 0; i < kLoadsW; ++i) {
    const int task = threadIdx.x + i * kBlock, row = task / kPiecesW, column = task % kPiecesW * 4;
    const bool inside = kColumns % kTileN == 0 || n0 + column < kColumns;
    if (kTileK * kPiecesW % kBlock == 0 || row < kTileK)
      fetch<16>(to + row * kTileN + column, weights + (inside ? (chunk * kTileK + row) * kColumns + n0 + column : 0), inside);
  }
}

// From the thread's first row and first column.
__device__ inline void multiply_chunk(float (&sums)[kLaneRows][kQuads][4], const float* x, const float* weights) {
#pragma unroll
  for (int k = 0; k < kTileK; k += 4) {
    Pack<float, 4> a[kLaneRows];
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i) a[i] = load_pack<4>(x + i * 4 * kPitchX + k);
#pragma unroll
    for (int part = 0; part < 4; ++part)
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        const Pack<float, 4> b = load_pack<4>(weights + (k + part) * kTileN + q * 32);
#pragma unroll
        for (int i = 0; i < kLaneRows; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[i][q][j] = fmaf(a[i].v[part], b.v[j], sums[i][q][j]);
      }
  }
}

__device__ inline void meet_cluster() {
#if CLUSTER
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
__device__ inline float read_result(const float* place, int rank) {
#if CLUSTER
  u32 there;
  float v;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(place)), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
  return v;
#else
  return *place;
#endif
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const X* __restrict__ weights, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(16) float shared[];
  const int split = blockIdx.x % kSplits, tile = blockIdx.x / kSplits;
  const int m0 = tile / (kTilesN * kGroups) * kTileM, n0 = tile % kTilesN * kTileN;
  const int group = kGroups == 1 ? 0 : tile / kTilesN % kGroups;
  x += Index(group * kC) * Index(XC);
  weights += Index(group) * Index(kDepth * kColumns);
  const int begin = kChunks * split / kSplits, count = kChunks * (split + 1) / kSplits - begin;
  const int row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
  // Weights do not wait for the kernel before.
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (i < count) fetch_weights(shared + i * kStageFloats + kFloatsX, weights, begin + i, n0);
  InputRows rows;
  rows.locate(m0 + row);
  begin_kernel();
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    if (i < count) rows.fetch_chunk(shared + i * kStageFloats, x, begin + i, row, piece);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own_row = warp / kWarpsN * kWarpRows + lane / 8, own_column = warp % kWarpsN * kWarpColumns + lane % 8 * 4;
  float sums[kLaneRows][kQuads][4] = {};
  int stage = 0, next = kAhead;
  for (int i = 0; i < count; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
    __syncthreads();
    if (i + kAhead < count) {
      fetch_weights(shared + next * kStageFloats + kFloatsX, weights, begin + i + kAhead, n0);
      rows.fetch_chunk(shared + next * kStageFloats, x, begin + i + kAhead, row, piece);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    const float* at = shared + stage * kStageFloats;
    multiply_chunk(sums, at + own_row * kPitchX, at + kFloatsX + own_column);
    stage = stage + 1 == kStages ? 0 : stage + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i)
#pragma unroll
    for (int q = 0; q < kQuads; ++q)
      store_narrow<4>(shared + (own_row + i * 4) * kPitch + own_column + q * 32, sums[i][q]);
  meet_cluster();
  // Each block of the cluster finishes a part of the rows, kPack channels a thread.
  constexpr int kShare = kTileM / kSplits, kPacks = kTileN / kPack;
#pragma unroll 2
  for (int i = threadIdx.x; i < kShare * kPacks; i += kBlock) {
    const int r = split * kShare + i / kPacks, c = i % kPacks * kPack, m = m0 + r, n = n0 + c;
    if (m >= kM || n >= kN) continue;
    Real v[kPack];
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      v[j] = 0;
#pragma unroll
      for (int s = 0; s < kSplits; ++s) v[j] += read_result(shared + r * kPitch + c + j, s);
    }
    const Index at = Index(m) * Index(kN * kGroups) + Index(group * kN + n);
    epilogue<kPack>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kPack>(y, at, v);
  }
#if CLUSTER
  meet_cluster();  // No block exits while others read.
#endif
}
