// Products of at most 8 rows with constant weights of 4 or 8 bits, whose bytes decide the time. Rows are the columns of
// the tensor cores' right operand, so that eight cost as much as one. A warp takes kTiles times 16 columns and a part of
// k in steps of 128; the operands of kAhead steps are on their way to shared memory, first of all before the rows are
// there. kSplits blocks share the columns, each with a piece of k: a cluster, or another kernel adds up their sums.

enum : int { kStep = 128, kParts = kStep / 32 };  // Of k; a thread reads 8 numbers of a row in each of the parts.
enum : int { kSteps = (kK + kStep - 1) / kStep };
enum : int { kPiece = (kSteps + kSplits - 1) / kSplits, kEach = (kPiece + kWarpsK - 1) / kWarpsK };
enum : int { kAllTiles = (kN + 15) / 16, kColumns = kWarpsN * kTiles * 16 };
enum : int { kVectors = kBits / 2 };  // Of 16 bytes that a thread reads of a tile and a step.
// Blocks of k with scales of their own, in a step and in all; 0 and 1 where there are none.
enum : int { kBlocks = kScaleBlock == 0 ? 0 : (kScaleBlock < kStep ? kStep / kScaleBlock : 1) };
enum : int { kAllBlocks = kScaleBlock == 0 ? 1 : (kSteps * kStep + kScaleBlock - 1) / kScaleBlock };
enum : int { kWeightBytes = kVectors * 512 };
enum : int { kScaleBytes = kBlocks * 16 * int(sizeof(Scale)), kZeroBytes = kHasZeros ? kBlocks * 32 : 0 };
enum : int { kTileBytes = kWeightBytes + kScaleBytes + kZeroBytes, kStageBytes = kTiles * kTileBytes };
// From a row to the next in shared memory, of sums and of x: their first banks differ.
enum : int { kPitch = kColumns + 4, kRow = kPiece * kStep + 32 };
enum : int { kRingBytes = kWarpsN * kWarpsK * kAhead * kStageBytes, kSumBytes = kWarpsK * 8 * kPitch * 4 };

struct Weights {
  const char *numbers, *scales, *zeros;
};

/// The first of a step's blocks of scales.
__device__ inline int block_of(int step) { return kScaleBlock < kStep ? step * kBlocks : step * kStep / kScaleBlock; }

/// Scales and zero points of a block lie by pairs of columns: `row`, `row + 8`.
__device__ inline void fetch_step(char* to, const Weights& from, int first, int step, int lane) {
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const int tile = first + i;
    if (tile >= kAllTiles) return;
    char* here = to + i * kTileBytes;
    const char* numbers = from.numbers + (u64(tile) * kSteps + step) * kWeightBytes;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) copy_async(here + v * 512 + lane * 16, numbers + v * 512 + lane * 16, true);
    if constexpr (kBlocks > 0) {
      const u64 block = u64(tile) * kAllBlocks + block_of(step);
      here += kWeightBytes;
      if (lane * 16 < kScaleBytes) copy_async(here + lane * 16, from.scales + block * (16 * sizeof(Scale)) + lane * 16, true);
      if (lane * 16 < kZeroBytes) copy_async(here + kScaleBytes + lane * 16, from.zeros + block * 32 + lane * 16, true);
    }
  }
}

/// A step's numbers of a row, as the tensor cores' right operand takes them; others stay 0.
__device__ inline void load_row(u32 (&x)[kParts][4], const X* from, bool inside) {
#pragma unroll
  for (int p = 0; p < kParts; ++p) {
    if (!inside) continue;
    const uint4 v = *reinterpret_cast<const uint4*>(from + p * 32);
    x[p][0] = v.x, x[p][1] = v.y, x[p][2] = v.z, x[p][3] = v.w;
  }
}

__device__ inline void load_minus(u32 (&minus)[2], const char* zeros, int pair) {
  float zero[2];
  load_wide<2>(reinterpret_cast<const X*>(zeros) + 2 * pair, zero);
  minus[0] = minus_of(zero[0], false), minus[1] = minus_of(zero[1], true);
}

/// Of a thread and each tile: sums of (row, 2 part), (row, 2 part + 1), and of column row + 8, in two parts, so that products
/// that follow each other do not wait for each other.
struct Sums {
  float of[kTiles][2][4];
};

/// Adds a step of all tiles. Those behind the last one have sums that are not read.
__device__ inline void add_step(Sums& sums, const char* at, const u32 (&x)[kParts][4], u32 (&minus)[kTiles][2], int lane) {
  u32 words[kTiles][kVectors * 4];
#pragma unroll
  for (int i = 0; i < kTiles * kVectors; ++i) {
    const int t = i / kVectors, v = i % kVectors;
    const uint4 vector = *reinterpret_cast<const uint4*>(at + t * kTileBytes + v * 512 + lane * 16);
    words[t][4 * v] = vector.x, words[t][4 * v + 1] = vector.y, words[t][4 * v + 2] = vector.z, words[t][4 * v + 3] = vector.w;
  }
  constexpr int kPartsEach = kBlocks == 0 ? kParts : kParts / kBlocks;  // Of a block.
  Sums block = {};
#pragma unroll
  for (int p = 0; p < kParts; ++p) {
    const int number = p / kPartsEach;
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
      if (kZeroBytes > 0 && p % kPartsEach == 0)
        load_minus(minus[t], at + t * kTileBytes + kWeightBytes + kScaleBytes + number * 32, lane / 4);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        u32 a[4];
        unpack_weights(a, words[t] + (2 * p + i) * kWordsEach, minus[t]);
        multiply(kBlocks == 0 ? sums.of[t][i] : block.of[t][i], a, x[p][2 * i], x[p][2 * i + 1]);
      }
    if (kBlocks == 0 || (p + 1) % kPartsEach != 0) continue;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      float scale[2];
      load_wide<2>(reinterpret_cast<const Scale*>(at + t * kTileBytes + kWeightBytes) + number * 16 + lane / 4 * 2, scale);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& sum = sums.of[t][0][i];
        sum = fmaf(block.of[t][0][i] + block.of[t][1][i], scale[i / 2], sum);
        block.of[t][0][i] = block.of[t][1][i] = 0;
      }
    }
  }
}

/// kPack sums of a block of the cluster.
__device__ inline void load_sums(float (&v)[kPack], const float* from, [[maybe_unused]] int rank) {
#if __CUDA_ARCH__ >= 900
  if constexpr (kCluster) {
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(from)), "r"(rank));
#pragma unroll
    for (int i = 0; i < kPack; ++i)
      asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v[i]) : "r"(there + 4 * i) : "memory");
    return;
  }
#endif
#pragma unroll
  for (int i = 0; i < kPack; ++i) v[i] = from[i];
}

/// All of the block's sums are there, or of the cluster's.
__device__ inline void meet() {
#if __CUDA_ARCH__ >= 900
  if constexpr (kCluster) {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
#endif
  __syncthreads();
}

/// Bits of one element of a row, or of two.
template <int kCount>
struct WordOf {
  using type = u32;
};
template <>
struct WordOf<1> {
  using type = u16;
};

/// The block's piece of the rows, 0 beyond the end of k; several loads of a thread are under way at a time.
__device__ inline void load_rows(X* to, const X* __restrict__ x, int piece) {
  using Word = WordOf<kLoad>::type;
  constexpr int kLoads = kPiece * kStep / kLoad, kBatch = 4, kWords = kLoad * 2 / int(sizeof(Word));
  for (int begin = threadIdx.x; begin < kM * kLoads; begin += kBatch * kBlock) {
    Pack<Word, kWords> v[kBatch] = {};
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = begin + b * kBlock, k = piece * kStep + i % kLoads * kLoad;
      if (i < kM * kLoads && k < kK)
        v[b] = load_pack<kWords>(reinterpret_cast<const Word*>(x + locate<XRowAt>(Index(i / kLoads)) + k));
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = begin + b * kBlock;
      if (i < kM * kLoads) store_pack<kWords>(reinterpret_cast<Word*>(to + i / kLoads * kRow + i % kLoads * kLoad), v[b]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const char* __restrict__ numbers, const char* __restrict__ scales,
           const char* __restrict__ zeros, Y* __restrict__ y, float* __restrict__ partial EPILOGUE_PARAMETERS) {
  extern __shared__ uint4 memory[];
  char* const ring_of_all = reinterpret_cast<char*>(memory);
  float* const all_sums = reinterpret_cast<float*>(ring_of_all + kRingBytes);
  X* const rows = reinterpret_cast<X*>(ring_of_all + kRingBytes + kSumBytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, part = lane % 4;
  const int across = warp % kWarpsN, deep = warp / kWarpsN;
  const int split = blockIdx.x % kSplits, group = blockIdx.x / kSplits;
  const int first = (group * kWarpsN + across) * kTiles, piece = split * kPiece, begin = piece + deep * kEach;
  int count = (begin + kEach < piece + kPiece ? kEach : piece + kPiece - begin);
  if (begin + count > kSteps) count = kSteps - begin;
  if (first >= kAllTiles) count = 0;
  char* const ring = ring_of_all + warp * (kAhead * kStageBytes);
  const Weights from{numbers, scales, zeros};
#pragma unroll 1
  for (int i = 0; i < kAhead; ++i) {
    if (i < count) fetch_step(ring + i * kStageBytes, from, first, begin + i, lane);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  Sums sums = {};
  u32 minus[kTiles][2], values[kParts][4] = {};
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    minus[i][0] = minus_of(kZero, false), minus[i][1] = minus_of(kZero, true);
    if (kHasZeros && kBlocks == 0 && first + i < kAllTiles) load_minus(minus[i], zeros + (first + i) * 32, row);
  }
  begin_kernel();
  load_rows(rows, x, piece);
  __syncthreads();
  const X* numbers_of_row = rows + row * kRow + deep * (kEach * kStep) + part * 8;
  for (int i = 0, slot = 0; i < count; ++i, slot = slot + 1 == kAhead ? 0 : slot + 1) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
    __syncwarp();
    char* const here = ring + slot * kStageBytes;
    load_row(values, numbers_of_row + i * kStep, row < kM);
    add_step(sums, here, values, minus, lane);
    __syncwarp();
    if (i + kAhead < count) fetch_step(here, from, first, begin + i + kAhead, lane);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  float* const own = all_sums + (deep * 8 + 2 * part) * kPitch + across * (kTiles * 16) + row;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    float scale[2] = {1, 1};
    if (kBlocks == 0 && first + t < kAllTiles)
      load_wide<2>(reinterpret_cast<const Scale*>(scales) + (first + t) * 16 + 2 * row, scale);
#pragma unroll
    for (int i = 0; i < 4; ++i) own[i % 2 * kPitch + t * 16 + i / 2 * 8] = (sums.of[t][0][i] + sums.of[t][1][i]) * scale[i / 2];
  }
  meet();
  // Blocks of a cluster finish a part of the columns each.
  constexpr int kFinished = kCluster ? kColumns / kSplits : kColumns, kPacks = kFinished / kPack;
  for (int i = threadIdx.x; i < kM * kPacks; i += kBlock) {
    const int m = i / kPacks, c = (kCluster ? split * kFinished : 0) + i % kPacks * kPack;
    const int column = group * kColumns + c;
    if (column >= kN) continue;
    Real v[kPack] = {};
#pragma unroll
    for (int rank = 0; rank < (kCluster ? kSplits : 1); ++rank)
#pragma unroll
      for (int d = 0; d < kWarpsK; ++d) {
        float sum[kPack];
        load_sums(sum, all_sums + (d * 8 + m) * kPitch + c, rank);
#pragma unroll
        for (int k = 0; k < kPack; ++k) v[k] += Real(sum[k]);
      }
    const Index at = m * Index(kN) + column;
    if constexpr (kSplits > 1 && !kCluster) {
#pragma unroll
      for (int k = 0; k < kPack; ++k) partial[Index(split) * (kM * Index(kN)) + at + k] = float(v[k]);
    } else {
      epilogue<kPack>(v, at EPILOGUE_ARGUMENTS);
      store_located<YAt, kPack>(y, at, v);
    }
  }
  // Others still read this block's sums.
  if constexpr (kCluster) meet();
}
