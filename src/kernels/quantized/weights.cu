// Products of at most 8 rows with constant weights of 4 or 8 bits, whose bytes decide the time. Rows are the columns of
// the tensor cores' right operand, so that eight cost as much as one. Weights, scales and zero points of a warp's kTiles times 16
// columns lie in the order in which it takes them, a record for each 128 along k; of these it takes kChunk at a time, every
// kDeep-th chunk. kSlots chunks are in shared memory or on their way there, the first of them before the rows are there; on Hopper
// TMA fetches them. kDeep rows of kAcross warps are a block. kSplits blocks share the columns, each with a piece of k: a cluster, or
// another kernel adds up their sums.
//
// Weights are multiplied as they are, counted from 0 on; zero points are multiplied with the sums of the rows' numbers.

enum : int { kStep = 128, kParts = kStep / 32 };  // Of k; a thread reads 8 numbers of a row in each of the parts.
enum : int { kSteps = (kK + kStep - 1) / kStep };
enum : int { kPiece = (kSteps + kSplits - 1) / kSplits };  // Steps of a block.
enum : int { kWarps = kAcross * kDeep, kOwnColumns = kTiles * 16, kColumns = kAcross * kOwnColumns };
enum : int { kVectors = kBits / 2 };  // Of 16 bytes that a thread reads of a tile and a step.
// Blocks of k with scales of their own in a step; 0 where all of k has the same.
enum : int { kBlocks = kScaleBlock == 0 ? 0 : (kScaleBlock < kStep ? kStep / kScaleBlock : 1) };
// Of a tile and a step, as the next two.
enum : int { kWeightBytes = kVectors * 512 };
enum : int { kScaleBytes = kBlocks * 16 * int(sizeof(Scale)), kZeroBytes = kHasZeros ? kBlocks * 32 : 0 };
enum : int { kScalesAt = kTiles * kWeightBytes, kZerosAt = kScalesAt + kTiles * kScaleBytes };
enum : int { kRecordBytes = kZerosAt + kTiles * kZeroBytes, kChunkBytes = kChunk * kRecordBytes };
enum : int { kOwnBytes = kSlots * kChunkBytes };  // Of a warp's chunks, whose place its sums take.
// From a row to the next in shared memory, of a warp's sums and of x: their first banks differ.
enum : int { kPitch = kOwnColumns + 4, kRow = kPiece * kStep + 32 };
enum : int { kSums = kBlocks == 0 ? 1 : kBlocks };  // Of a step.
enum : int { kMatrices = kParts * 2, kEachSum = kMatrices / kSums };  // Of 16 along k: of a step, of a sum.
enum : int { kEachVector = kMatrices / kVectors };
enum : int { kChains = kGroup > 2 ? 1 : 2 };  // Products of a tile that do not wait for each other.

#if __CUDA_ARCH__ >= 900
__device__ inline void await_phase(u32 barrier, u32 phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra ready;\nbra again;\nready:\n}"
      ::"r"(barrier), "r"(phase) : "memory");
}
__device__ inline void expect_bytes(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void copy_bytes(void* to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
#endif

/// The chunks of a warp.
struct Chunks {
  char* slots;
  u32 barriers;
  const char* from;
  int steps;         // Of the block's piece; 0 where the warp has no columns.
  int chunk;         // The next one.
  bool lets;         // The launch behind may start when kLets in a hundred of the warp's chunks are asked for.
  int slot = 0;
  u32 phase = 0;

  __device__ bool more() const { return chunk * kChunk < steps; }
  __device__ int steps_of(int number) const { return steps - number * kChunk < kChunk ? steps - number * kChunk : kChunk; }

  /// Asks for the first ones, and creates barriers for it.
  __device__ void begin(int lane) const {
#if __CUDA_ARCH__ >= 900
    if (lane == 0) {
#pragma unroll 1
      for (int i = 0; i < kSlots; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
#endif
#pragma unroll 1
    for (int i = 0; i < kSlots; ++i) fetch(chunk + i * kDeep, i, lane);
    let_start(0, kSlots * kDeep, lane);
  }
  /// `asked` chunks of the block are asked for now, `before` were before.
  __device__ void let_start(int before, int asked, int lane) const {
    const int needed = (steps + kChunk - 1) / kChunk * kLets / 100;
    if (lets && lane == 0 && asked >= needed && (before < needed || before == 0)) release_next();
  }
  __device__ void fetch(int number, int to, int lane) const {
    const int bytes = number * kChunk < steps ? steps_of(number) * kRecordBytes : 0;
    const char* const first = from + number * kChunkBytes;
#if __CUDA_ARCH__ >= 900
    if (lane == 0 && bytes > 0) {
      expect_bytes(barriers + to * 8, bytes);
      copy_bytes(slots + to * kChunkBytes, first, bytes, barriers + to * 8);
    }
#else
    for (int i = lane * 16; i < bytes; i += 512) copy_async(slots + to * kChunkBytes + i, first + i, true);
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  __device__ const char* await() const {
#if __CUDA_ARCH__ >= 900
    await_phase(barriers + slot * 8, phase);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(kSlots - 1) : "memory");
    __syncwarp();
#endif
    return slots + slot * kChunkBytes;
  }
  /// Behind the last use of a chunk: asks for another in its place.
  __device__ void leave(int lane) {
    __syncwarp();
    const int next = chunk + kSlots * kDeep;
    fetch(next, slot, lane);
    let_start(next, next + kDeep, lane);
    chunk += kDeep;
    if (++slot == kSlots) slot = 0, phase ^= 1;
  }
};

/// A thread's words of the matrix of 16 along k, one of the kEachVector that 16 bytes have.
__device__ inline void take_words(u32 (&words)[kWordsEach], const uint4& v, int matrix) {
  const u32 all[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < kWordsEach; ++i) words[i] = all[matrix % kEachVector * kWordsEach + i];
}

/// Of a thread and each tile: (row, 2 part), (row, 2 part + 1), and the same of column row + 8.
using Quad = float[4];
/// Of a thread's columns of each of its warp's tiles.
using Numbers = float[kTiles][2];

/// A step's numbers of a thread's row, as the tensor cores' right operand takes them, and their sums, a block of scales each.
struct StepRows {
  u32 x[kParts][4];
  Quad all[kSums];

  __device__ void load(const X* from) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const uint4 v = *reinterpret_cast<const uint4*>(from + p * 32);
      x[p][0] = v.x, x[p][1] = v.y, x[p][2] = v.z, x[p][3] = v.w;
    }
    u32 ones[4];
    set_ones(ones);
#pragma unroll
    for (int b = 0; b < kSums; ++b) {
      Quad chains[2] = {};
#pragma unroll
      for (int m = b * kEachSum; m < (b + 1) * kEachSum; ++m) multiply(chains[m % 2], ones, x[m / 2][m % 2 * 2], x[m / 2][m % 2 * 2 + 1]);
#pragma unroll
      for (int i = 0; i < 4; ++i) all[b][i] = chains[0][i] + chains[1][i];
    }
  }
};

/// Products of kGroup tiles with a block of scales; zero points are taken off from the weights themselves, or not.
using Group = Quad[kGroup][kChains];
template <bool kExact, class ZeroOf>
__device__ inline void multiply_group(Group& sums, int first, int b, const char* numbers, const StepRows& rows, const ZeroOf& zero_of) {
#pragma unroll
  for (int i = 0; i < kGroup * kChains * 4; ++i) sums[i / 4 / kChains][i / 4 % kChains][i % 4] = 0;
  uint4 vectors[kGroup];
#pragma unroll
  for (int m = b * kEachSum; m < (b + 1) * kEachSum; ++m)
#pragma unroll
    for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
      if (m % kEachVector == 0 || m == b * kEachSum)
        vectors[t] = *reinterpret_cast<const uint4*>(numbers + (first + t) * kWeightBytes + m / kEachVector * 512);
      u32 words[kWordsEach], a[4];
      take_words(words, vectors[t], m);
      unpack_weights(a, words);
      if constexpr (kExact) {
        float zero[2];
        zero_of(zero, b, first + t);
        subtract_zeros(a, zero);
      }
      multiply(sums[t][m % kChains], a, rows.x[m / 2][m % 2 * 2], rows.x[m / 2][m % 2 * 2 + 1]);
    }
}

/// Adds a step of a warp's tiles, kGroup at a time. Those behind the last one have sums that are not read. `zeros` hold for all
/// of k; blocks of scales have their own.
template <bool kExact>
__device__ inline void add_step(Quad (&sums)[kTiles], const Numbers& zeros, const char* record, const StepRows& rows, int lane) {
  const auto own = [&](int at, int bytes) { return record + at + lane / 4 * (bytes / kSums / 8); };
  const auto zero_of = [&](float (&to)[2], int b, int t) {
    if constexpr (kHasZeros && kBlocks > 0) load_wide<2>(reinterpret_cast<const X*>(own(kZerosAt, kZeroBytes)) + (t * kSums + b) * 16, to);
    else to[0] = zeros[t][0], to[1] = zeros[t][1];
  };
#pragma unroll
  for (int first = 0; first < kTiles; first += kGroup)
#pragma unroll
    for (int b = 0; b < kSums; ++b) {
      Group block;
      multiply_group<kExact>(block, first, b, record + lane * 16, rows, zero_of);
#pragma unroll
      for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
        float scale[2] = {1, 1}, zero[2];
        if constexpr (kBlocks > 0)
          load_wide<2>(reinterpret_cast<const Scale*>(own(kScalesAt, kScaleBytes)) + ((first + t) * kSums + b) * 16, scale);
        zero_of(zero, b, first + t);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float sum = block[t][0][i];
          if (kChains > 1) sum += block[t][kChains - 1][i];
          if (!kExact) sum = fmaf(-(zero[i / 2] + kOffset), rows.all[b][i], sum);
          sums[first + t][i] = fmaf(sum, scale[i / 2], sums[first + t][i]);
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
    if constexpr (kPack == 4)
      asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(v[0]), "=f"(v[1 % kPack]), "=f"(v[2 % kPack]), "=f"(v[3 % kPack]) : "r"(there) : "memory");
    else
#pragma unroll
      for (int i = 0; i < kPack; ++i) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v[i]) : "r"(there + 4 * i) : "memory");
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

/// The warps of a row are here.
__device__ inline void meet_row([[maybe_unused]] int deep) {
  if constexpr (kAcross == 1) __syncwarp();
  else asm volatile("bar.sync %0, %1;" ::"r"(deep + 1), "n"(int(kAcross) * 32) : "memory");
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

/// The numbers of the block's rows that a row of warps multiplies, 0 beyond the end of k, by its own warps: several loads of a
/// thread are under way at a time.
__device__ inline void load_rows(X* to, const X* __restrict__ x, int piece, int deep, int thread) {
  using Word = WordOf<kLoad>::type;
  constexpr int kEach = kChunk * kStep / kLoad, kVisits = (kPiece + kChunk * kDeep - 1) / (kChunk * kDeep);
  constexpr int kBatch = 4, kWords = kLoad * 2 / int(sizeof(Word)), kThreads = kAcross * 32;
  const int all = kM * kVisits * kEach;
  for (int begin = thread; begin < all; begin += kBatch * kThreads) {
    Pack<Word, kWords> v[kBatch] = {};
    int places[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = begin + b * kThreads, m = i / (kVisits * kEach);
      const int at = (i / kEach % kVisits * kDeep + deep) * (kChunk * kStep) + i % kEach * kLoad;
      places[b] = i < all && at < kPiece * kStep ? m * kRow + at : -1;
      if (places[b] < 0) continue;
      const X* const from = x + locate<XRowAt>(Index(m)) + piece + at;
      if constexpr (kCopies) copy_async(to + places[b], piece + at < kK ? from : x, piece + at < kK);
      else if (piece + at < kK) v[b] = load_pack<kWords>(reinterpret_cast<const Word*>(from));
    }
    if constexpr (!kCopies)
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
        if (places[b] >= 0) store_pack<kWords>(reinterpret_cast<Word*>(to + places[b]), v[b]);
  }
  if constexpr (kCopies) asm volatile("cp.async.wait_all;" ::: "memory");
  meet_row(deep);
}

/// Numbers of a thread's columns that hold for all of k.
template <class T>
__device__ inline void load_numbers(Numbers& to, const char* from, int tile, int lane) {
#pragma unroll
  for (int t = 0; t < kTiles; ++t) load_wide<2>(reinterpret_cast<const T*>(from) + (tile + t) * 16 + lane / 4 * 2, to[t]);
}

/// Adds the steps of a chunk. `finite` becomes NaN where the sum of a row's numbers is not.
template <bool kExact>
__device__ inline void add_chunk(Quad (&sums)[kTiles], const Numbers& zeros, const char* record, const X* row, int steps, int lane, float& finite) {
#pragma unroll 1
  for (; steps > 0; --steps, record += kRecordBytes, row += kStep) {
    StepRows step;
    step.load(row);
    add_step<kExact>(sums, zeros, record, step, lane);
#pragma unroll
    for (int b = 0; b < kSums; ++b) finite = fmaf(0, step.all[b][0] + step.all[b][1], finite);
  }
}

/// A warp's sums of its chunks, in their units.
__device__ inline void multiply_chunks(Quad (&sums)[kTiles], const Numbers& zeros, Chunks& chunks, const X* rows, int lane) {
  const X* const own = rows + (lane / 4 < kM ? lane / 4 : 0) * kRow + lane % 4 * 8;  // Others' sums are not kept.
  const int first = chunks.chunk;
  float finite = 0;
#pragma unroll 1
  for (; chunks.more(); chunks.leave(lane))
    add_chunk<false>(sums, zeros, chunks.await(), own + chunks.chunk * (kChunk * kStep), chunks.steps_of(chunks.chunk), lane, finite);
  if (__all_sync(~0u, finite == 0)) return;
  // A zero point times an infinite number is not to be taken from an infinite sum. All again, from memory, as that is rare.
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i) sums[i / 4][i % 4] = 0;
#pragma unroll 1
  for (int chunk = first; chunk * kChunk < chunks.steps; chunk += kDeep)
    add_chunk<true>(sums, zeros, chunks.from + chunk * kChunkBytes, own + chunk * (kChunk * kStep), chunks.steps_of(chunk), lane, finite);
}

/// [row][column] of the warp.
__device__ inline void keep_sums(float* to, const Quad (&sums)[kTiles], const Numbers& scale, int lane) {
  const int row = lane / 4, part = lane % 4;
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (2 * part + i % 2 < kM)
        to[(2 * part + i % 2) * kPitch + t * 16 + i / 2 * 8 + row] = sums[t][i] * (scale[t][i / 2] * unit_of(i / 2));
}

extern "C" __global__ void __launch_bounds__(kBlock, kWarps > 8 && kTiles > 1 ? 1 : 2)
    kernel(const X* __restrict__ x, const char* __restrict__ records, const char* __restrict__ scales,
           const char* __restrict__ zeros, Y* __restrict__ y, float* __restrict__ partial EPILOGUE_PARAMETERS) {
  extern __shared__ uint4 memory[];
  X* const rows = reinterpret_cast<X*>(memory);
  char* const slots = reinterpret_cast<char*>(rows + kM * kRow);
  const u32 barriers = shared_address(slots) + kWarps * kOwnBytes;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, deep = warp / kAcross;
  const int split = blockIdx.x % kSplits, group = blockIdx.x / kSplits, own = group * kAcross + warp % kAcross;
  const bool any = own * kOwnColumns < kN;
  const int first = split * kPiece, left = any ? kSteps - first : 0;  // Steps.
  Chunks chunks{slots + warp * kOwnBytes, barriers + warp * (kSlots * 8), records + (u64(own) * kSteps + first) * kRecordBytes,
                left < kPiece ? (left < 0 ? 0 : left) : kPiece, deep, warp == 0};
  chunks.begin(lane);
  Numbers zero, scale;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) zero[t][0] = zero[t][1] = kZero, scale[t][0] = scale[t][1] = 1;
  if (kBlocks == 0 && any) {
    load_numbers<Scale>(scale, scales, own * kTiles, lane);
    if (kHasZeros) load_numbers<X>(zero, zeros, own * kTiles, lane);
  }
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  load_rows(rows, x, first * kStep, deep, warp % kAcross * 32 + lane);
  Quad sums[kTiles] = {};
  multiply_chunks(sums, zero, chunks, rows, lane);
  keep_sums(reinterpret_cast<float*>(chunks.slots), sums, scale, lane);
  meet();
  // Blocks of a cluster finish a part of the columns each.
  constexpr int kFinished = kCluster ? kColumns / kSplits : kColumns, kPacks = kFinished / kPack;
  for (int i = threadIdx.x; i < kM * kPacks; i += kWarps * 32) {
    const int m = i / kPacks, c = (kCluster ? split * kFinished : 0) + i % kPacks * kPack;
    const int column = group * kColumns + c;
    if (column >= kN) continue;
    Real v[kPack] = {};
#pragma unroll
    for (int rank = 0; rank < (kCluster ? kSplits : 1); ++rank)
#pragma unroll
      for (int d = 0; d < kDeep; ++d) {
        const char* const of = slots + (d * kAcross + c / kOwnColumns) * kOwnBytes;
        float sum[kPack];
        load_sums(sum, reinterpret_cast<const float*>(of) + m * kPitch + c % kOwnColumns, rank);
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
