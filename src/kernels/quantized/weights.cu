// Products of at most 8 rows with constant weights of 4 or 8 bits, whose bytes decide the time. Rows are the columns of
// the tensor cores' right operand, so that eight cost as much as one. A warp takes kTiles times 16 columns and a part of
// k in steps of 128; the weights of kAhead times kChunk steps are on their way to shared memory, first of all before the
// rows are there. On Hopper a warp of its own has TMA fetch them for all others, kWindow chunks at a time: as many as keep
// memory busy, and no more, since the rows of the launch ahead would queue up behind them. kSplits blocks share the columns,
// each with a piece of k: a cluster, or another kernel adds up their sums.

enum : int { kStep = 128, kParts = kStep / 32 };  // Of k; a thread reads 8 numbers of a row in each of the parts.
enum : int { kSteps = (kK + kStep - 1) / kStep };
enum : int { kPiece = (kSteps + kSplits - 1) / kSplits, kEach = (kPiece + kWarpsK - 1) / kWarpsK };
enum : int { kAllTiles = (kN + 15) / 16, kColumns = kWarpsN * kTiles * 16, kWarps = kWarpsN * kWarpsK };
enum : int { kVectors = kBits / 2 };  // Of 16 bytes that a thread reads of a tile and a step.
// Blocks of k with scales of their own, in a step and in all; 0 and 1 where there are none.
enum : int { kBlocks = kScaleBlock == 0 ? 0 : (kScaleBlock < kStep ? kStep / kScaleBlock : 1) };
enum : int { kAllBlocks = kScaleBlock == 0 ? 1 : (kSteps * kStep + kScaleBlock - 1) / kScaleBlock };
enum : int { kWeightBytes = kVectors * 512 };  // Of a tile and a step, as the next two.
enum : int { kScaleBytes = kBlocks * 16 * int(sizeof(Scale)), kZeroBytes = kHasZeros ? kBlocks * 32 : 0 };
static_assert(kChunk == 1 || kScaleBlock <= kStep, "scales of a chunk of steps");
// Barriers know the parity of a phase alone: one that has been used twice since seems not to have come.
static_assert(kWindow <= kAhead * kWarps, "chunks under way have places of their own");
enum : int { kScalesAt = kTiles * kChunk * kWeightBytes, kZerosAt = kScalesAt + kTiles * kChunk * kScaleBytes };
enum : int { kStageBytes = kZerosAt + kTiles * kChunk * kZeroBytes, kRingBytes = kAhead * kStageBytes };  // Of a warp.
enum : int { kBarrierBytes = kWarps * kAhead * 16 };  // Of a chunk: it is there, it has been read.
// From a row to the next in shared memory, of a warp's sums, which lie in its ring, and of x: their first banks differ.
enum : int { kPitch = kTiles * 16 + 4, kRow = kPiece * kStep + 32 };
enum : int { kMatrices = kParts * 2, kEachBlock = kBlocks == 0 ? kMatrices : kMatrices / kBlocks };  // Of 16 along k: of a step, of a block.
enum : int { kEachVector = kMatrices / kVectors };
enum : int { kChains = kGroup > 2 ? 1 : 2 };  // Products of a tile that do not wait for each other.

struct Weights {
  const char *numbers, *scales, *zeros;
};

/// The first of a step's blocks of scales.
__device__ inline int block_of(int step) { return kScaleBlock < kStep ? step * kBlocks : step * kStep / kScaleBlock; }

#if __CUDA_ARCH__ >= 900
__device__ inline void copy_bytes(char* to, const char* from, int bytes, u32 barrier, int) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
#else
__device__ inline void copy_bytes(char* to, const char* from, int bytes, u32, int lane) {
  for (int i = lane * 16; i < bytes; i += 512) copy_async(to + i, from + i, true);
}
#endif

/// A warp's tiles of `steps` steps, which lie behind each other, as do their scales and their zero points: those of a block lie
/// by pairs of columns: `row`, `row + 8`. One thread of the warp asks TMA for them; else all of them copy.
__device__ inline void fetch_chunk(char* to, u32 barrier, const Weights& from, int group, int step, int steps, int lane) {
  constexpr int kNumbers = kTiles * kWeightBytes, kScales = kTiles * kScaleBytes, kZeros = kTiles * kZeroBytes;
#if __CUDA_ARCH__ >= 900
  if (lane != 0) return;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               ::"r"(barrier), "r"(steps * (kNumbers + kScales + kZeros)) : "memory");
#endif
  copy_bytes(to, from.numbers + (u64(group) * kSteps + step) * kNumbers, steps * kNumbers, barrier, lane);
  if constexpr (kBlocks > 0) {
    const u64 blocks = (u64(group) * kAllBlocks + block_of(step)) * kTiles;
    copy_bytes(to + kScalesAt, from.scales + blocks * (16 * sizeof(Scale)), steps * kScales, barrier, lane);
    if constexpr (kHasZeros) copy_bytes(to + kZerosAt, from.zeros + blocks * 32, steps * kZeros, barrier, lane);
  }
}

/// A warp's part: its tiles, the first of its steps and how many it has.
struct Part {
  int group, begin, count;
};
__device__ inline Part part_of(int warp) {
  const int split = blockIdx.x % kSplits, group = blockIdx.x / kSplits, piece = split * kPiece;
  Part part{group * kWarpsN + warp % kWarpsN, piece + warp / kWarpsN * kEach, 0};
  part.count = part.begin + kEach < piece + kPiece ? kEach : piece + kPiece - part.begin;
  if (part.begin + part.count > kSteps) part.count = kSteps - part.begin;
  if (part.group * kTiles >= kAllTiles) part.count = 0;
  return part;
}
__device__ inline void fetch_chunk_of(char* ring, u32 barrier, const Weights& from, const Part& part, int i, int lane) {
  fetch_chunk(ring, barrier, from, part.group, part.begin + i, part.count - i < kChunk ? part.count - i : kChunk, lane);
}

#if __CUDA_ARCH__ >= 900
__device__ inline void await_phase(u32 barrier, u32 phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra ready;\nbra again;\nready:\n}"
      ::"r"(barrier), "r"(phase) : "memory");
}
__device__ inline void create_barriers(u32 barriers, int warp, int lane) {
  if (warp == kWarps)
    for (int i = lane; i < kWarps * kAhead * 2; i += 32) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// All chunks of the block's warps in the order in which they are used. Loops stay loops: their code comes from memory, too.
__device__ inline void fetch_all(char* rings, u32 barriers, const Weights& from) {
  const auto barrier = [&](int chunk, int warp) { return barriers + (warp * kAhead + chunk % kAhead) * 16; };
#pragma unroll 1
  for (int chunk = 0; chunk * kChunk < kEach; ++chunk)
#pragma unroll 1
    for (int warp = 0; warp < kWarps; ++warp) {
      const int old = chunk * kWarps + warp - kWindow, old_chunk = old / kWarps, old_warp = old % kWarps;
      if (old >= 0 && old_chunk * kChunk < part_of(old_warp).count) await_phase(barrier(old_chunk, old_warp), old_chunk / kAhead & 1);
      const Part part = part_of(warp);
      if (chunk * kChunk >= part.count) continue;
      if (chunk >= kAhead) await_phase(barrier(chunk, warp) + 8, (chunk / kAhead - 1) & 1);
      fetch_chunk_of(rings + warp * kRingBytes + chunk % kAhead * kStageBytes, barrier(chunk, warp), from, part, chunk * kChunk, 0);
    }
}
#endif

/// A warp's chunks as it waits for them; without TMA it fetches them, too.
struct Chunks {
  char* ring;
  u32 barriers;
  const Weights& from;
  const Part& part;
  int slot = 0;
  u32 phase = 0;

  __device__ void begin(int lane) {
#if __CUDA_ARCH__ < 900
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i) fetch(i, i, lane);
#endif
  }
  __device__ void fetch(int chunk, int to, int lane) const {
    if (chunk * kChunk < part.count) fetch_chunk_of(ring + to * kStageBytes, 0, from, part, chunk * kChunk, lane);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  __device__ const char* await() const {
#if __CUDA_ARCH__ >= 900
    await_phase(barriers + slot * 16, phase);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead - 1) : "memory");
    __syncwarp();
#endif
    return ring + slot * kStageBytes;
  }
  /// Behind the last use of a chunk.
  __device__ void leave([[maybe_unused]] int chunk, [[maybe_unused]] int lane) {
    __syncwarp();
#if __CUDA_ARCH__ >= 900
    if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barriers + slot * 16 + 8) : "memory");
#else
    fetch(chunk + kAhead, slot, lane);
#endif
    if (++slot == kAhead) slot = 0, phase ^= 1;
  }
};

/// A thread's words of the matrix of 16 along k; the compiler makes loads of 16 bytes of them.
__device__ inline void load_words(u32 (&words)[kWordsEach], const char* at, int matrix) {
  const uint4 v = *reinterpret_cast<const uint4*>(at + matrix / kEachVector * 512);
  const u32 all[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < kWordsEach; ++i) words[i] = all[matrix % kEachVector * kWordsEach + i];
}

/// Of a thread and each tile: (row, 2 part), (row, 2 part + 1), and the same of column row + 8.
using Quad = float[4];

/// Negative zero points of a thread's columns.
using Minus = u32[kTiles][2];

/// Adds step `s` of a chunk of all tiles, kGroup at a time. Those behind the last one have sums that are not read. `minus` is what
/// holds for all of k; blocks of scales have their own.
__device__ inline void add_step(Quad (&sums)[kTiles], Minus& minus, const char* at, int s, const u32 (&x)[kParts][4], int lane) {
  const char *const numbers = at + s * (kTiles * kWeightBytes) + lane * 16,
             *const scales = at + kScalesAt + s * (kTiles * kScaleBytes), *const zeros = at + kZerosAt + s * (kTiles * kZeroBytes);
#pragma unroll
  for (int first = 0; first < kTiles; first += kGroup) {
    Quad block[kGroup][kChains] = {};
#pragma unroll
    for (int m = 0; m < kMatrices; ++m) {
      const int number = kBlocks == 0 ? 0 : m / kEachBlock;
      const bool begins = kHasZeros && kBlocks > 0 && m % kEachBlock == 0;
#pragma unroll
      for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
        if (begins) set_minus(minus[first + t], zeros + (number * kTiles + first + t) * 32, lane / 4);
        u32 words[kWordsEach], a[4];
        load_words(words, numbers + (first + t) * kWeightBytes, m);
        unpack_weights(a, words, minus[first + t]);
        multiply(kBlocks == 0 ? sums[first + t] : block[t][m % kChains], a, x[m / 2][m % 2 * 2], x[m / 2][m % 2 * 2 + 1]);
      }
      if (kBlocks == 0 || (m + 1) % kEachBlock != 0) continue;
#pragma unroll
      for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
        float scale[2];
        load_wide<2>(reinterpret_cast<const Scale*>(scales) + (number * kTiles + first + t) * 16 + lane / 4 * 2, scale);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float sum = block[t][0][i];
          if (kChains > 1) sum += block[t][1][i], block[t][kChains - 1][i] = 0;
          block[t][0][i] = 0;
          sums[first + t][i] = fmaf(sum, scale[i / 2], sums[first + t][i]);
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
  constexpr int kLoads = kPiece * kStep / kLoad, kBatch = 4, kWords = kLoad * 2 / int(sizeof(Word)), kThreads = kWarps * 32;
  for (int begin = threadIdx.x; begin < kM * kLoads; begin += kBatch * kThreads) {
    Pack<Word, kWords> v[kBatch] = {};
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = begin + b * kThreads, k = piece * kStep + i % kLoads * kLoad;
      if (i < kM * kLoads && k < kK)
        v[b] = load_pack<kWords>(reinterpret_cast<const Word*>(x + locate<XRowAt>(Index(i / kLoads)) + k));
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = begin + b * kThreads;
      if (i < kM * kLoads) store_pack<kWords>(reinterpret_cast<Word*>(to + i / kLoads * kRow + i % kLoads * kLoad), v[b]);
    }
  }
}

/// A step's numbers of a thread's row, as the tensor cores' right operand takes them; others stay 0. They come from shared
/// memory, or, kHeld steps ahead, from where they are.
enum : int { kHeld = kDirect && kChunk % 2 == 0 ? 2 : 1 };
struct Row {
  const X* from;  // The first of the warp's.
  bool inside;
  int k;  // Of that, where loads look whether they are inside.
  uint4 held[kHeld][kParts];

  __device__ bool reaches(int at) const { return inside && (!kDirect || kK % kStep == 0 || k + at < kK); }
  __device__ void load(uint4 (&to)[kParts], int step) const {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const int at = step * kStep + p * 32;
      if (reaches(at)) to[p] = *reinterpret_cast<const uint4*>(from + at);
      else to[p] = uint4{0, 0, 0, 0};
    }
  }
  __device__ static void take(u32 (&x)[kParts][4], const uint4 (&v)[kParts]) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) x[p][0] = v[p].x, x[p][1] = v[p].y, x[p][2] = v[p].z, x[p][3] = v[p].w;
  }
};

/// The sums of a warp's part, in its ring.
__device__ inline void multiply_part(const X* __restrict__ x, const Weights& from, const Part& own, Chunks& chunks, X* all, int deep, int lane) {
  const int row = lane / 4, part = lane % 4;
  u32 values[kParts][4];
  Quad sums[kTiles] = {};
  Minus minus;
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
    if (!kHasZeros || (kBlocks == 0 && own.count > 0)) set_minus(minus[t], from.zeros + (own.group * kTiles + t) * 32, row);
  Row rows{x, row < kM, own.begin * kStep + part * 8};
  if constexpr (kDirect) {
    rows.from += (row < kM ? locate<XRowAt>(Index(row)) : 0) + rows.k;
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (i < own.count) rows.load(rows.held[i], i);
  } else {
    rows.from = all + row * kRow + deep * (kEach * kStep) + part * 8;
  }
#pragma unroll 1
  for (int i = 0; i < own.count; i += kChunk) {
    const char* const here = chunks.await();
#pragma unroll 1
    for (int s = 0; s < kChunk; s += kHeld)
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        if (i + s + h >= own.count) break;
        if (!kDirect) rows.load(rows.held[h], i + s + h);
        Row::take(values, rows.held[h]);
        if (kDirect && i + s + h + kHeld < own.count) rows.load(rows.held[h], i + s + h + kHeld);
        add_step(sums, minus, here, s + h, values, lane);
      }
    chunks.leave(i / kChunk, lane);
  }
  float* const to = reinterpret_cast<float*>(chunks.ring) + 2 * part * kPitch + row;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    float scale[2] = {1, 1};
    if (kBlocks == 0 && own.count > 0)
      load_wide<2>(reinterpret_cast<const Scale*>(from.scales) + (own.group * kTiles + t) * 16 + 2 * row, scale);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (2 * part + i % 2 < kM)
        to[i % 2 * kPitch + t * 16 + i / 2 * 8] = sums[t][i] * (scale[i / 2] * unit_of(i / 2));
  }
}

extern "C" __global__ void __launch_bounds__(kBlock, kWarps > 8 ? 1 : 2)
    kernel(const X* __restrict__ x, const char* __restrict__ numbers, const char* __restrict__ scales,
           const char* __restrict__ zeros, Y* __restrict__ y, float* __restrict__ partial EPILOGUE_PARAMETERS) {
  extern __shared__ uint4 memory[];
  release_next();
  char* const rings = reinterpret_cast<char*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int split = blockIdx.x % kSplits, group = blockIdx.x / kSplits;
  const u32 barriers = shared_address(rings + kWarps * kRingBytes);
  const Weights from{numbers, scales, zeros};
  const Part own = part_of(warp);
  Chunks chunks{rings + warp * kRingBytes, barriers + warp * (kAhead * 16), from, own};
#if __CUDA_ARCH__ >= 900
  create_barriers(barriers, warp, lane);
  __syncthreads();
  if (warp == kWarps && lane == 0) fetch_all(rings, barriers, from);
#endif
  if (warp < kWarps) {
    chunks.begin(lane);
    begin_kernel();
  }
  if (warp < kWarps) {
    X* const all = reinterpret_cast<X*>(rings + kWarps * kRingBytes + kBarrierBytes);
    if constexpr (!kDirect) {
      load_rows(all, x, split * kPiece);
      asm volatile("bar.sync 1, %0;" ::"n"(int(kWarps) * 32) : "memory");
    }
    multiply_part(x, from, own, chunks, all, warp / kWarpsN, lane);
  }
  __syncwarp();
  meet();
  // Blocks of a cluster finish a part of the columns each.
  constexpr int kFinished = kCluster ? kColumns / kSplits : kColumns, kPacks = kFinished / kPack;
  for (int i = threadIdx.x; i < kM * kPacks && warp < kWarps; i += kWarps * 32) {
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
