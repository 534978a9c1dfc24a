// Quantized regions on tensor cores (sm_80; floats of 8 bits sm_89), of any layout: rows are places of the result, columns
// its channels, and the depth runs over taps and the channels of each, kPitch of them, which are gathered on their way to
// shared memory kLoad at a time. Taps in the border read the zero point.
// Weights: [kN][kDepth], filled up with zeros.

enum : int { kTileK = 64, kPieces = kTileK / 16, kChunks = kDepth / kTileK };
enum : int { kBytesA = kTileM * kTileK, kBytesB = kTileN * kTileK, kStageBytes = kBytesA + kBytesB };
enum : int { kRowsAtOnce = kBlock / kPieces };
enum : int { kLoadsA = (kTileM + kRowsAtOnce - 1) / kRowsAtOnce, kLoadsB = (kTileN + kRowsAtOnce - 1) / kRowsAtOnce };
enum : int { kRowsOfWarp = kTileM / kWarpsM, kColumnsOfWarp = kTileN / kWarpsN };
enum : int { kResultPitch = kTileN + 8 };
enum : int { kTilesN = (kN + kTileN - 1) / kTileN };
enum : u32 { kZeros = u32(kZero & 0xff) * 0x01010101u };

// Where a piece of 16 bytes lies in a tile: pieces of rows below each other in different banks.
__device__ inline u32 place(int row, int piece) { return row * kTileK + ((piece ^ (row >> 1 & 3)) << 4); }

template <int kBytes>
__device__ inline void copy_ahead(u32 to, const void* from) {
  if constexpr (kBytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes) : "memory");
}
template <int kBytes>
__device__ inline void store_word(u32 to, u32 word) {
  if constexpr (kBytes == 16)
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(word) : "memory");
  else if constexpr (kBytes == 8)
    asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(to), "r"(word) : "memory");
  else if constexpr (kBytes == 4)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
  else
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(word & 0xff) : "memory");
}

// Places of the rows that a thread fetches.
struct InputRows {
  Index offset[kLoadsA];
  int place0[kLoadsA], place1[kLoadsA], place2[kLoadsA];
  bool exists[kLoadsA];

  __device__ inline void locate_rows(int first) {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const int m = first + i * kRowsAtOnce;
      exists[i] = m < kM && (kTileM % kRowsAtOnce == 0 || threadIdx.x / kPieces + i * kRowsAtOnce < kTileM);
      const int row = m < kM ? m : 0;
      if constexpr (kProduct) {
        offset[i] = locate<XRowAt>(Index(row));
      } else {
        place2[i] = row % kOut2 * kStride2 - kBegin2;
        place1[i] = row / kOut2 % kOut1 * kStride1 - kBegin1;
        place0[i] = row / (kOut2 * kOut1) % kOut0 * kStride0 - kBegin0;
        offset[i] = Index(row / (kOut2 * kOut1 * kOut0)) * Index(XN);
      }
    }
  }
  /// Element `k` of row i of the loop; false where it is none.
  __device__ inline bool find(int i, int k, Index& at) const {
    const int tap = kProduct ? 0 : k / kPitch, c = kProduct ? k : k % kPitch;
    if (!exists[i] || k >= kTaps * kPitch || (kPitch != kC && c >= kC)) return false;
    if constexpr (kProduct) {
      at = offset[i] + Index(c) * Index(XC);
      return true;
    } else {
      const int i0 = place0[i] + tap / (kKernel2 * kKernel1) * kDilation0;
      const int i1 = place1[i] + tap / kKernel2 % kKernel1 * kDilation1, i2 = place2[i] + tap % kKernel2 * kDilation2;
      if (unsigned(i0) >= unsigned(kIn0) || unsigned(i1) >= unsigned(kIn1) || unsigned(i2) >= unsigned(kIn2)) return false;
      at = offset[i] + Index(i0) * Index(X0) + Index(i1) * Index(X1) + Index(i2) * Index(X2) + Index(c) * Index(XC);
      return true;
    }
  }
  __device__ inline void fetch_chunk(u32 to, const X* x, int chunk, int row, int piece) const {
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      if (kTileM % kRowsAtOnce != 0 && row + i * kRowsAtOnce >= kTileM) continue;
      const u32 there = to + place(row + i * kRowsAtOnce, piece);
#pragma unroll
      for (int part = 0; part < 16; part += kLoad) {
        Index at = 0;
        const bool inside = find(i, chunk * kTileK + piece * 16 + part, at);
        if constexpr (kLoad == 1) {
          store_word<1>(there + part, inside ? u32(reinterpret_cast<const u8*>(x)[at]) : kZeros);
        } else if (inside) {
          copy_ahead<kLoad>(there + part, x + at);
        } else {
          store_word<kLoad>(there + part, kZeros);
        }
      }
    }
  }
};

__device__ inline void fetch_weights(u32 to, const i8* weights, int chunk, int n0, int row, int piece) {
#pragma unroll
  for (int i = 0; i < kLoadsB; ++i) {
    const int at = row + i * kRowsAtOnce;
    if (kTileN % kRowsAtOnce != 0 && at >= kTileN) continue;
    if (kN % kTileN == 0 || n0 + at < kN)
      copy_ahead<16>(to + place(at, piece), weights + Index(n0 + at) * Index(kDepth) + chunk * kTileK + piece * 16);
    else
      store_word<16>(to + place(at, piece), 0);
  }
}

__device__ inline void load_pieces(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}
struct Sums {
  Accumulator v[kRowsOfWarp / 16][kColumnsOfWarp / 8][4];
};
__device__ inline void multiply_chunk(Sums& sums, u32 stage) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / kWarpsN * kRowsOfWarp + lane % 16;
  const int column = warp % kWarpsN * kColumnsOfWarp + lane / 16 * 8 + lane % 8;
#pragma unroll
  for (int k = 0; k < kTileK / 32; ++k) {
    u32 a[kRowsOfWarp / 16][4], b[kColumnsOfWarp / 16][4];
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i) load_pieces(a[i], stage + place(row + i * 16, k * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp / 16; ++j)
      load_pieces(b[j], stage + kBytesA + place(column + j * 16, k * 2 + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
      for (int j = 0; j < kColumnsOfWarp / 8; ++j)
        multiply_bytes(sums.v[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

__device__ inline void keep_results(const Sums& sums, Accumulator* to) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / kWarpsN * kRowsOfWarp + lane / 4, column = warp % kWarpsN * kColumnsOfWarp + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Accumulator* at = to + (row + i * 16 + half * 8) * kResultPitch + column + j * 8;
        at[0] = sums.v[i][j][2 * half], at[1] = sums.v[i][j][2 * half + 1];
      }
}

enum : int { kPacks = kTileN / kPack };
static_assert(kBlock % kPacks == 0, "a thread's results are in the same columns");
/// Factors and bias of a thread's columns: they turn sums into results.
struct OwnColumns {
  int first;
  float2 factor[kPack];
  int shift[kZero != 0 ? kPack : 1];

  __device__ inline void fetch(const float2* factors, const int* shifts, int n0) {
    first = n0 + threadIdx.x % kPacks * kPack;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      if (first >= kN) continue;
      factor[j] = factors[first + j];
      if constexpr (kZero != 0) shift[j] = shifts[first + j];
    }
  }
  __device__ inline float real_of(Accumulator sum, int j) const {
    if constexpr (kZero != 0) sum -= shift[j];
    return fmaf(float(sum), factor[j].x, factor[j].y);
  }
};

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const i8* __restrict__ weights, Y* __restrict__ y, const float2* __restrict__ factors,
           const int* __restrict__ shifts EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 base = shared_address(shared);
  const int m0 = blockIdx.x / kTilesN * kTileM, n0 = blockIdx.x % kTilesN * kTileN;
  const int row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
  // Weights and factors do not wait for the kernel before.
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (i < kChunks) fetch_weights(base + i * kStageBytes + kBytesA, weights, i, n0, row, piece);
  OwnColumns columns;
  columns.fetch(factors, shifts, n0);
  InputRows rows;
  rows.locate_rows(m0 + row);
  begin_kernel();
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    if (i < kChunks) rows.fetch_chunk(base + i * kStageBytes, x, i, row, piece);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  Sums sums = {};
  u32 stage = 0, next = kAhead;
  for (int i = 0; i < kChunks; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
    __syncthreads();
    if (i + kAhead < kChunks) {
      fetch_weights(base + next * kStageBytes + kBytesA, weights, i + kAhead, n0, row, piece);
      rows.fetch_chunk(base + next * kStageBytes, x, i + kAhead, row, piece);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    multiply_chunk(sums, base + stage * kStageBytes);
    stage = stage == kAhead ? 0 : stage + 1;
    next = next == kAhead ? 0 : next + 1;
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  Accumulator* results = reinterpret_cast<Accumulator*>(shared);
  keep_results(sums, results);
  __syncthreads();
  for (int r = threadIdx.x / kPacks; r < kTileM; r += kBlock / kPacks) {
    if (m0 + r >= kM || columns.first >= kN) continue;
    Real v[kPack];
#pragma unroll
    for (int j = 0; j < kPack; ++j) v[j] = columns.real_of(results[r * kResultPitch + columns.first - n0 + j], j);
    const Index at = Index(m0 + r) * Index(kN) + Index(columns.first);
    epilogue<kPack>(v, at EPILOGUE_ARGUMENTS);
#ifdef BYTE_RANGE
#pragma unroll
    for (int j = 0; j < kPack; ++j) v[j] = fmaf(__saturatef(v[j]), BYTE_RANGE, BYTE_START) - 12582912.0f;
#else
    if constexpr (kRoundsToInteger) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) v[j] = fminf(fmaxf(rintf(v[j]), float(kLowest)), float(kHighest));
    }
#endif
    store_located<YAt, kPack>(y, at, v);
  }
}
