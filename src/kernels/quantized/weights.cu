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
enum : int { kScalesAt = kTiles * kWeightBytes, kZerosAt = kScalesAt + kTiles * kScaleBytes };
enum : int { kStageBytes = kZerosAt + kTiles * kZeroBytes, kRingBytes = kAhead * kStageBytes };  // Of a warp.
// From a row to the next in shared memory, of a warp's sums, which lie in its ring, and of x: their first banks differ.
enum : int { kPitch = kTiles * 16 + 4, kRow = kPiece * kStep + 32 };
enum : int { kMatrices = kParts * 2, kEachBlock = kBlocks == 0 ? kMatrices : kMatrices / kBlocks };  // Of 16 along k: of a step, of a block.
enum : int { kEachVector = kMatrices / kVectors };
struct Weights {
  const char *numbers, *scales, *zeros;
};

/// The first of a step's blocks of scales.
__device__ inline int block_of(int step) { return kScaleBlock < kStep ? step * kBlocks : step * kStep / kScaleBlock; }

/// kBytes of each tile, which lie `pitch` bytes apart.
template <int kBytes>
__device__ inline void fetch_numbers(char* to, const char* from, int first, int pitch, int lane) {
  constexpr int kPieces = kBytes / 16;
#pragma unroll
  for (int i = lane; i < kTiles * kPieces; i += 32)
    if (kAllTiles % kTiles == 0 || first + i / kPieces < kAllTiles)
      copy_async(to + i * 16, from + u64(first + i / kPieces) * pitch + i % kPieces * 16, true);
}

/// Scales and zero points of a block lie by pairs of columns: `row`, `row + 8`.
__device__ inline void fetch_step(char* to, const Weights& from, int first, int step, int lane) {
  const char* const numbers = from.numbers + (u64(first) * kSteps + step) * kWeightBytes + lane * 16;
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    if (kAllTiles % kTiles != 0 && first + i >= kAllTiles) break;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      copy_async(to + i * kWeightBytes + v * 512 + lane * 16, numbers + i * (kSteps * kWeightBytes) + v * 512, true);
  }
  if constexpr (kBlocks > 0) {
    const int block = block_of(step);
    constexpr int kScale = 16 * sizeof(Scale);
    fetch_numbers<kScaleBytes>(to + kScalesAt, from.scales + u64(block) * kScale, first, kAllBlocks * kScale, lane);
    if constexpr (kHasZeros) fetch_numbers<kZeroBytes>(to + kZerosAt, from.zeros + u64(block) * 32, first, kAllBlocks * 32, lane);
  }
}

/// A thread's words of the matrix of 16 along k; the compiler makes loads of 16 bytes of them.
__device__ inline void load_words(u32 (&words)[kWordsEach], const char* at, int matrix) {
  const uint4 v = *reinterpret_cast<const uint4*>(at + matrix / kEachVector * 512);
  const u32 all[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < kWordsEach; ++i) words[i] = all[matrix % kEachVector * kWordsEach + i];
}

/// Of a thread and each tile: (row, 2 part), (row, 2 part + 1), and the same of column row + 8.
using Quad = float[4];

/// Sums of x times the negative zero point, or times -1 where columns have their own: what numbers have too much that count
/// from 0 on. The tensor cores add them up for all columns, in two parts each, so that products do not wait for each other.
struct Excess {
  Quad of[kBlocks == 0 ? 1 : kBlocks][2];
};

/// A sum over all of k, without the excess.
__device__ inline float without_excess(float sum, const Excess& excess, float zero, int i) {
  return kBlocks > 0 ? sum : fmaf(excess.of[0][0][i] + excess.of[0][1][i], zero, sum);
}

/// Adds a step of all tiles, kGroup at a time. Those behind the last one have sums that are not read.
__device__ inline void add_step(Quad (&sums)[kTiles], Excess& excess, const char* at, const u32 (&x)[kParts][4], const u32 (&ones)[4],
                                int lane) {
#pragma unroll
  for (int first = 0; first < kTiles; first += kGroup) {
    Quad block[kGroup] = {};
#pragma unroll
    for (int m = 0; m < kMatrices; ++m) {
      const u32 b0 = x[m / 2][m % 2 * 2], b1 = x[m / 2][m % 2 * 2 + 1];
      const int number = kBlocks == 0 ? 0 : m / kEachBlock;
      if (first == 0) multiply(excess.of[number][m % 2], ones, b0, b1);
#pragma unroll
      for (int t = 0; t < kGroup; ++t) {
        u32 words[kWordsEach], a[4];
        load_words(words, at + (first + t) * kWeightBytes + lane * 16, m);
        unpack_weights(a, words);
        multiply(kBlocks == 0 ? sums[first + t] : block[t], a, b0, b1);
      }
      if (kBlocks == 0 || (m + 1) % kEachBlock != 0) continue;
#pragma unroll
      for (int t = 0; t < kGroup; ++t) {
        float scale[2], zero[2] = {1, 1};
        load_wide<2>(reinterpret_cast<const Scale*>(at + kScalesAt + (first + t) * kScaleBytes) + number * 16 + lane / 4 * 2, scale);
        if (kHasZeros) load_zeros(zero, at + kZerosAt + (first + t) * kZeroBytes + number * 32, lane / 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float all = excess.of[number][0][i] + excess.of[number][1][i];
          sums[first + t][i] = fmaf(fmaf(zero[i / 2], all, block[t][i]), scale[i / 2], sums[first + t][i]);
          block[t][i] = 0;
        }
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

/// A step's numbers of a thread's row, as the tensor cores' right operand takes them; others stay 0. They come from shared
/// memory, or, a step ahead, from where they are.
struct Row {
  const X* from;
  bool inside;
  int k;  // Of the first number of the step, where loads look whether it is inside.
  uint4 next[kParts];

  __device__ void load() {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      if (inside && (!kDirect || kK % kStep == 0 || k + p * 32 < kK)) next[p] = *reinterpret_cast<const uint4*>(from + p * 32);
      else next[p] = uint4{0, 0, 0, 0};
    }
    from += kStep, k += kStep;
  }
  __device__ void take(u32 (&x)[kParts][4]) const {
#pragma unroll
    for (int p = 0; p < kParts; ++p) x[p][0] = next[p].x, x[p][1] = next[p].y, x[p][2] = next[p].z, x[p][3] = next[p].w;
  }
};

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const char* __restrict__ numbers, const char* __restrict__ scales,
           const char* __restrict__ zeros, Y* __restrict__ y, float* __restrict__ partial EPILOGUE_PARAMETERS) {
  extern __shared__ uint4 memory[];
  release_next();
  char* const rings = reinterpret_cast<char*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, part = lane % 4;
  const int across = warp % kWarpsN, deep = warp / kWarpsN;
  const int split = blockIdx.x % kSplits, group = blockIdx.x / kSplits;
  const int first = (group * kWarpsN + across) * kTiles, piece = split * kPiece, begin = piece + deep * kEach;
  int count = (begin + kEach < piece + kPiece ? kEach : piece + kPiece - begin);
  if (begin + count > kSteps) count = kSteps - begin;
  if (first >= kAllTiles) count = 0;
  char* const ring = rings + warp * kRingBytes;
  const Weights from{numbers, scales, zeros};
#pragma unroll 1
  for (int i = 0; i < kAhead; ++i) {
    if (i < count) fetch_step(ring + i * kStageBytes, from, first, begin + i, lane);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  u32 ones[4], values[kParts][4];
  set_excess(ones);
  Quad sums[kTiles] = {};
  Excess excess = {};
  begin_kernel();
  Row rows{nullptr, row < kM, begin * kStep + part * 8};
  if constexpr (kDirect) {
    rows.from = x + (row < kM ? locate<XRowAt>(Index(row)) : 0) + rows.k;
    if (count > 0) rows.load();
  } else {
    X* const all = reinterpret_cast<X*>(rings + kWarpsN * kWarpsK * kRingBytes);
    load_rows(all, x, piece);
    __syncthreads();
    rows.from = all + row * kRow + deep * (kEach * kStep) + part * 8;
  }
  for (int i = 0, slot = 0; i < count; ++i, slot = slot + 1 == kAhead ? 0 : slot + 1) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
    __syncwarp();
    char* const here = ring + slot * kStageBytes;
    if (!kDirect) rows.load();
    rows.take(values);
    if (kDirect && i + 1 < count) rows.load();
    if (kBlocks > 0) excess = Excess{};
    add_step(sums, excess, here, values, ones, lane);
    __syncwarp();
    if (i + kAhead < count) fetch_step(here, from, first, begin + i + kAhead, lane);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  float* const own = reinterpret_cast<float*>(ring) + 2 * part * kPitch + row;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    float scale[2] = {1, 1}, zero[2] = {1, 1};
    if (kBlocks == 0 && first + t < kAllTiles) {
      load_wide<2>(reinterpret_cast<const Scale*>(scales) + (first + t) * 16 + 2 * row, scale);
      if (kHasZeros) load_zeros(zero, zeros + (first + t) * 32, row);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (2 * part + i % 2 < kM)
        own[i % 2 * kPitch + t * 16 + i / 2 * 8] = without_excess(sums[t][i], excess, zero[i / 2], i) * (scale[i / 2] * unit_of(i / 2));
  }
  meet();
  // Blocks of a cluster finish a part of the columns each.
  constexpr int kFinished = kCluster ? kColumns / kSplits : kColumns, kPacks = kFinished / kPack;
  for (int i = threadIdx.x; i < kM * kPacks; i += kBlock) {
    const int m = i / kPacks, c = (kCluster ? split * kFinished : 0) + i % kPacks * kPack;
    const int column = group * kColumns + c;
    if (column >= kN) continue;
    const float* const first_sum = reinterpret_cast<const float*>(rings + c / (kTiles * 16) * kRingBytes) + m * kPitch + c % (kTiles * 16);
    Real v[kPack] = {};
#pragma unroll
    for (int rank = 0; rank < (kCluster ? kSplits : 1); ++rank)
#pragma unroll
      for (int d = 0; d < kWarpsK; ++d) {
        float sum[kPack];
        load_sums(sum, first_sum + d * (kWarpsN * kRingBytes / 4), rank);
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
