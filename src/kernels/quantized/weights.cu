// Products of at most 8 rows with constant weights of 4 or 8 bits, whose bytes decide the time. Rows are the columns of
// the tensor cores' right operand, so that eight cost as much as one. Weights, scales and zero points of a warp's kTiles times 16
// columns lie in the order in which it takes them, a record for each 128 along k; of these it takes kChunk at a time, every
// kDeep-th chunk. `slots` chunks are in shared memory or on their way there, the first of them before the rows are there; on Hopper
// TMA fetches them. kDeep rows of kAcross warps are a
// block. kSplits blocks share the columns, each with a piece of k: a cluster, or another kernel adds up their sums.
//
// Weights are multiplied as they are, counted from 0 on; zero points are multiplied with the sums of the rows' numbers. With DIGITS,
// where weights have 4 bits and there are one or two rows, both are integers: a row's numbers have three digits, each a column.

enum : int { kStep = 128, kParts = kStep / 32 };  // Of k; a thread reads 8 numbers of a row in each of the parts.
enum : int { kSteps = (kK + kStep - 1) / kStep };
enum : int { kPiece = (kSteps + kSplits - 1) / kSplits };  // Steps of a block.
enum : int { kWarps = kAcross * kDeep, kOwnColumns = kTiles * 16, kColumns = kAcross * kOwnColumns };
// With kWhole all of a warp's steps, as many as the others', have places, so that loops over them are unrolled.
enum : int { kOwnSteps = kWhole ? kPiece / kDeep : 0, kUnrolled = kWhole ? kOwnSteps : 1 };
enum : int { kVectors = kBits / 2 };  // Of 16 bytes that a thread reads of a tile and a step.
// Blocks of k with scales of their own in a step; 0 where all of k has the same.
enum : int { kBlocks = kScaleBlock == 0 ? 0 : (kScaleBlock < kStep ? kStep / kScaleBlock : 1) };
// Of a tile and a step, as the next two.
enum : int { kWeightBytes = kVectors * 512 };
enum : int { kScaleBytes = kBlocks * 16 * int(sizeof(Scale)), kZeroBytes = kHasZeros ? kBlocks * 32 : 0 };
enum : int { kScalesAt = kTiles * kWeightBytes, kZerosAt = kScalesAt + kTiles * kScaleBytes };
enum : int { kRecordBytes = kZerosAt + kTiles * kZeroBytes, kChunkBytes = kChunk * kRecordBytes };
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

/// The steps of a warp.
struct OwnSteps {
  int steps;  // Of the block's piece; 0 where the warp has no columns.
  int deep;   // The first chunk.

  __device__ int chunks() const { return kWhole ? kOwnSteps / kChunk : ((steps + kChunk - 1) / kChunk - deep + kDeep - 1) / kDeep; }
  /// Where the warp's one of this number is in the block's piece.
  __device__ int at(int own) const { return (deep + own / kChunk * kDeep) * kChunk + own % kChunk; }
  __device__ int count() const {
    if constexpr (kWhole) return kOwnSteps;
    const int last = chunks() - 1;
    if (last < 0) return 0;
    const int left = steps - (deep + last * kDeep) * kChunk;
    return last * kChunk + (left < kChunk ? left : kChunk);
  }
};

/// Chunks of a warp, in their order.
struct Chunks {
  OwnSteps own;
  char* places;
  u32 barriers;
  const char *from, *next;  // The block's records, and the next one's that is asked for.
  // The launch behind may start when so many are asked for; 0: not by this warp; -1: when the first rows are here.
  int slots, release_at;
  int asked = 0, place = 0;
  int slot = 0;  // Of the next one.
  u32 phase = 0;

  /// Asks for the first ones, no more than `window` at a time, and creates barriers for it.
  __device__ void begin(int window, int lane) {
#if __CUDA_ARCH__ >= 900
    if (lane == 0) {
#pragma unroll 1
      for (int i = 0; i < slots; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
#endif
    const int all = own.chunks();
#pragma unroll 1
    for (int i = 0; i < slots; ++i) {
#if __CUDA_ARCH__ >= 900
      if (i >= window && i < all) await_phase(barriers + (i - window) * 8, 0);
#endif
      fetch(all, lane);
    }
    // Not sooner: the constant that it reads comes late at a kernel's start.
    if (lane == 0 && release_at > 0 && asked >= release_at) release_next();
  }
  /// The next one of `all`; behind the last one there are none.
  __device__ void fetch(int all, int lane) {
    int bytes = asked < all ? kChunkBytes : 0;
    if constexpr (kChunk > 1) {
      const int left = own.steps - (own.deep + asked * kDeep) * kChunk;
      bytes = left < kChunk && asked < all ? left * kRecordBytes : bytes;
    }
    const char* const first = next;
    char* const to = places + place * kChunkBytes;
    next += kDeep * kChunkBytes;
#if __CUDA_ARCH__ >= 900
    if (lane == 0 && bytes > 0) {
      expect_bytes(barriers + place * 8, bytes);
      copy_bytes(to, first, bytes, barriers + place * 8);
    }
#else
    for (int i = lane * 16; i < bytes; i += 512) copy_async(to + i, first + i, true);
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
    ++asked;
    if (++place == slots) place = 0;
  }
  /// So that weights of the launch behind are not ahead of this one's rows.
  __device__ void rows_came(int lane) const {
    if (release_at < 0 && lane == 0) release_next();
  }
  __device__ const char* await() const {
#if __CUDA_ARCH__ >= 900
    await_phase(barriers + slot * 8, phase);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(int(kPending)) : "memory");
    __syncwarp();
#endif
    return places + slot * kChunkBytes;
  }
  /// Behind the last use of a chunk: asks for another in its place.
  __device__ void leave(int all, int lane) {
    if constexpr (kWhole) {
      ++slot;
      return;
    }
    __syncwarp();
    fetch(all, lane);
    if (lane == 0 && asked == release_at) release_next();
    if (++slot == slots) slot = 0, phase ^= 1;
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

/// A step's numbers of a thread's row, as the tensor cores' right operand takes them.
using RowNumbers = u32[kParts][4];

/// Their sums, a block of scales each.
__device__ inline void add_numbers(Quad (&all)[kSums], const RowNumbers& x) {
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

/// Products of kGroup tiles with a block of scales; zero points are taken off from the weights themselves, or not.
using Group = Quad[kGroup][kChains];
template <bool kOff, class ZeroOf>
__device__ inline void multiply_group(Group& sums, int first, int b, const char* numbers, const RowNumbers& x, const ZeroOf& zero_of) {
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
      if constexpr (kOff) {
        float zero[2];
        zero_of(zero, b, first + t);
        subtract_zeros(a, zero);
      }
      multiply(sums[t][m % kChains], a, x[m / 2][m % 2 * 2], x[m / 2][m % 2 * 2 + 1]);
    }
}

/// Adds a step of a warp's tiles, kGroup at a time. Those behind the last one have sums that are not read. `zeros` hold for all
/// of k; blocks of scales have their own. `finite` becomes NaN where the sum of a row's numbers is not, and zero points were not
/// taken off.
template <bool kOff>
__device__ inline void add_step(Quad (&sums)[kTiles], const Numbers& zeros, const char* record, const RowNumbers& x, int lane, float& finite) {
  Quad all[kSums];
  if constexpr (!kOff) {
    add_numbers(all, x);
#pragma unroll
    for (int b = 0; b < kSums; ++b) finite = fmaf(0, all[b][0] + all[b][1], finite);
  }
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
      multiply_group<kOff>(block, first, b, record + lane * 16, x, zero_of);
#pragma unroll
      for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
        float scale[2] = {1, 1}, zero[2] = {};
        if constexpr (kBlocks > 0)
          load_wide<2>(reinterpret_cast<const Scale*>(own(kScalesAt, kScaleBytes)) + ((first + t) * kSums + b) * 16, scale);
        if (!kOff) zero_of(zero, b, first + t);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float sum = block[t][0][i];
          if (kChains > 1) sum += block[t][kChains - 1][i];
          if (!kOff) sum = fmaf(-(zero[i / 2] + kOffset), all[b][i], sum);
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

/// A thread's row, in shared memory or not.
struct OwnRow {
  const X* from;
  int begin;  // Along k, as `from`.

  __device__ void load(RowNumbers& to, int step) const {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const X* const at = from + step * kStep + p * 32;
      if constexpr (kAhead == 0) {
        const uint4 v = *reinterpret_cast<const uint4*>(at);
        to[p][0] = v.x, to[p][1] = v.y, to[p][2] = v.z, to[p][3] = v.w;
      } else if (kK % kStep == 0 || begin + step * kStep + p * 32 < kK) {
        // Not before griddepcontrol.wait, whatever the compiler thinks of x.
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(to[p][0]), "=r"(to[p][1]), "=r"(to[p][2]), "=r"(to[p][3]) : "l"(at) : "memory");
      } else {
        to[p][0] = to[p][1] = to[p][2] = to[p][3] = 0;
      }
    }
  }
};

/// A warp's sums of its steps: a chunk's first one awaits it, the last one leaves it.
template <bool kOff, class Await, class Came, class Leave>
__device__ inline void multiply_steps(Quad (&sums)[kTiles], const Numbers& zeros, const OwnSteps& own, const OwnRow& row, int lane, float& finite,
                                      const Await& await, const Came& came, const Leave& leave) {
  constexpr int kHeld = kAhead == 0 ? 1 : kAhead;
  RowNumbers held[kHeld];
  const int count = own.count();
  if constexpr (kAhead > 0)
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (i < count) row.load(held[i], own.at(i));
#pragma unroll kUnrolled
  for (int first = 0; first < count; first += kHeld)
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int now = first + i;
      if (now >= count) break;
      const char* const record = await(now);
      if constexpr (kAhead == 0) row.load(held[i], own.at(now));
      add_step<kOff>(sums, zeros, record, held[i], lane, finite);
      if (now == 0) came();
      if constexpr (kAhead > 0)
        if (now + kHeld < count) row.load(held[i], own.at(now + kHeld));
      if (now % kChunk == kChunk - 1 || now == count - 1) leave();
    }
}

/// A warp's sums from memory, zero points taken off: of infinite rows, which are rare.
__device__ inline void multiply_again(Quad (&sums)[kTiles], const Numbers& zeros, const Chunks& chunks, const OwnRow& row, int lane) {
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i) sums[i / 4][i % 4] = 0;
  float finite = 0;
  multiply_steps<true>(
      sums, zeros, chunks.own, row, lane, finite, [&](int now) { return chunks.from + u64(chunks.own.at(now)) * kRecordBytes; }, [] {}, [] {});
}

/// A warp's sums, in their units. False where a zero point times an infinite number may have been taken from an infinite sum.
__device__ inline bool multiply_chunks(Quad (&sums)[kTiles], const Numbers& zeros, Chunks& chunks, const OwnRow& row, int lane) {
  float finite = 0;
  const int all = chunks.own.chunks();
  const char* chunk = nullptr;
  multiply_steps<false>(
      sums, zeros, chunks.own, row, lane, finite,
      [&](int now) {
        if (now % kChunk == 0) chunk = chunks.await();
        return chunk + now % kChunk * kRecordBytes;
      },
      [&] { chunks.rows_came(lane); }, [&] { chunks.leave(all, lane); });
  return __all_sync(~0u, finite == 0);
}

#if DIGITS
// Rows as integers: a step's numbers in 22 bits and sign of a unit of their own, in three digits of base 256, which are columns of
// a product of bytes. Weights are bytes, too, 16 times as large as they are, counted from 8.
enum : int { kDigitWords = kDigitRows * 3 * (kStep / 4) };  // Of a step.

__device__ inline void multiply_bytes(int (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/// Of each byte the upper digit, less 8.
__device__ inline u32 upper_digits(u32 word) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(word), "r"(0xf0f0f0f0u), "r"(0x80808080u));  // (a & b) ^ c
  return r;
}
/// Sums of integers are the last bits of floats: these are the floats.
enum : int { kIntegerBits = 0x4b400000 };
__device__ inline float float_of(int sum) { return __int_as_float(sum) - 12582912; }

/// Digits of four numbers; `most` are the bits of the greatest number of the step, without sign. Returns the unit.
__device__ inline float digits_of(u32 (&d)[3], const float (&v)[4], u32 most) {
  constexpr u32 kLeast = 22 << 23;  // So that the unit and its inverse are normal numbers.
  const u32 exponent = max(most & 0x7f800000u, kLeast);
  const float inverse = __uint_as_float((275u << 23) - exponent);
  u32 w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = (__float_as_uint(fmaf(v[i], inverse, 12582912)) - (u32(kIntegerBits) - 0x8080u)) ^ 0x8080u;
  // In the order in which a word has weights: 0, 2, 1, 3.
  const u32 even = __byte_perm(w[0], w[2], 0x5140), odd = __byte_perm(w[1], w[3], 0x5140);
  d[0] = __byte_perm(even, odd, 0x5410), d[1] = __byte_perm(even, odd, 0x7632);
  d[2] = __byte_perm(__byte_perm(w[0], w[2], 0x0062), __byte_perm(w[1], w[3], 0x0062), 0x5410);
  return __uint_as_float(exponent - (21u << 23));
}

/// kAhead steps of a warp's rows.
struct DigitRows {
  const X* x;  ///< The lane's first number of the first row.
  int begin;   ///< Along k, as that.
  char* memory;      ///< Shared.
  u32 store, take;   ///< Where in it the lane writes words, and reads those of the row and digit that its column is.
  uint2 raw[kAhead][kDigitRows];  // As words: halves of them would be taken apart as they come, and waited for.
  float unit[kAhead];  ///< Of the row that the lane's sums are of.
  u32 greatest = 0;    ///< Bits of the greatest number, without sign.

  /// The places of a warp's lane in shared memory. Of a lane's group of four numbers, part * 8 + matrix in the step's order, all of a
  /// part lie together; columns that are no row's digit may read any.
  __device__ void place(int warp, int lane) {
    const int row = lane / 16 < kDigitRows ? lane / 16 : 0, digit = lane / 4 % 4 < 3 ? lane / 4 % 4 : 2;
    store = (warp * (kAhead * kDigitWords) + lane / 2 % 4 * 8 + lane / 8 * 2 + lane % 2) * 4;
    take = (warp * (kAhead * kDigitWords) + (row * 3 + digit) * (kStep / 4) + lane % 4 * 8) * 4;
    asm("" : "+r"(store), "+r"(take));  // They are kept, not computed anew in each step.
  }
  __device__ void load(const OwnSteps& own, int first, int count) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
#pragma unroll
      for (int r = 0; r < kDigitRows; ++r) {
        const int at = first + i < count ? own.at(first + i) * kStep : kK;
        uint2 v = make_uint2(0, 0);
        if (kK % kStep == 0 ? first + i < count : begin + at < kK)
          asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(x + locate<XRowAt>(Index(r)) + at) : "memory");
        raw[i][r] = v;
      }
  }
  /// To shared memory.
  __device__ void convert(int lane) {
    u32* const to = reinterpret_cast<u32*>(memory + store);
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
#pragma unroll
      for (int r = 0; r < kDigitRows; ++r) {
        const Pack<X, 4> numbers = *reinterpret_cast<const Pack<X, 4>*>(&raw[i][r]);
        float v[4];
        u32 most = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          v[k] = float(widen(numbers.v[k]));
          most = max(most, __float_as_uint(v[k]) & 0x7fffffffu);
        }
        asm("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(most));
        greatest = max(greatest, most);
        u32 d[3];
        const float u = digits_of(d, v, most);
        if (r == lane % 4 / 2 || r == 0) unit[i] = u;
#pragma unroll
        for (int k = 0; k < 3; ++k) to[i * kDigitWords + (r * 3 + k) * (kStep / 4)] = d[k];
      }
  }
  __device__ const u32* of(int i) const { return reinterpret_cast<const u32*>(memory + take) + i * kDigitWords; }
};

/// Sums of digits of a block of scales, of kGroup tiles, and of weights of one.
__device__ inline void add_digits(Quad (&sums)[kTiles], const Numbers& zeros, const char* record, const u32* digits, float unit, int lane) {
  constexpr int kEach = kMatrices / 2 / kSums;  // Products of bytes.
  constexpr bool kOwnZero = kHasZeros || kZero != 8;
  u32 b[kMatrices];
#pragma unroll
  for (int i = 0; i < kMatrices; i += 4) *reinterpret_cast<uint4*>(b + i) = *reinterpret_cast<const uint4*>(digits + i);
  const auto own = [&](int at, int bytes) { return record + at + lane / 4 * (bytes / kSums / 8); };
  int all[kSums][4];
  if constexpr (kOwnZero)
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      const u32 ones[4] = {0x10101010u, 0x10101010u, 0x10101010u, 0x10101010u};
#pragma unroll
      for (int i = 0; i < 4; ++i) all[s][i] = kIntegerBits;
#pragma unroll
      for (int m = s * kEach; m < (s + 1) * kEach; ++m) multiply_bytes(all[s], ones, b[2 * m], b[2 * m + 1]);
    }
#pragma unroll
  for (int first = 0; first < kTiles; first += kGroup) {
    uint4 v[kGroup][2];
#pragma unroll
    for (int t = 0; t < kGroup && first + t < kTiles; ++t)
#pragma unroll
      for (int i = 0; i < 2; ++i) v[t][i] = *reinterpret_cast<const uint4*>(record + lane * 16 + (first + t) * kWeightBytes + i * 512);
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      int block[kGroup][4];
#pragma unroll
      for (int i = 0; i < kGroup * 4; ++i) block[i / 4][i % 4] = kIntegerBits;
#pragma unroll
      for (int m = s * kEach; m < (s + 1) * kEach; ++m)
#pragma unroll
        for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
          const uint4& four = v[t][m / 2];
          const u32 low = m % 2 == 0 ? four.x : four.z, high = m % 2 == 0 ? four.y : four.w;
          const u32 a[4] = {upper_digits(low << 4), upper_digits(low), upper_digits(high << 4), upper_digits(high)};
          multiply_bytes(block[t], a, b[2 * m], b[2 * m + 1]);
        }
#pragma unroll
      for (int t = 0; t < kGroup && first + t < kTiles; ++t) {
        float scale[2] = {1, 1}, zero[2] = {zeros[first + t][0], zeros[first + t][1]};
        if constexpr (kBlocks > 0) load_wide<2>(reinterpret_cast<const Scale*>(own(kScalesAt, kScaleBytes)) + ((first + t) * kSums + s) * 16, scale);
        if constexpr (kHasZeros && kBlocks > 0)
          load_wide<2>(reinterpret_cast<const X*>(own(kZerosAt, kZeroBytes)) + ((first + t) * kSums + s) * 16, zero);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float sum = float_of(block[t][i]);
          if constexpr (kOwnZero) sum = fmaf(8 - zero[i / 2], float_of(all[s][i]), sum);
          sums[first + t][i] = fmaf(sum, scale[i / 2] * unit, sums[first + t][i]);
        }
      }
    }
  }
}

/// A warp's sums of its chunks, as multiply_chunks has them; false where a number of the rows is not finite.
__device__ inline bool multiply_digits(Quad (&sums)[kTiles], const Numbers& zeros, Chunks& chunks, DigitRows& rows, int lane) {
  const int count = chunks.own.count(), all = chunks.own.chunks();
  const char* chunk = nullptr;
  rows.load(chunks.own, 0, count);
#pragma unroll kUnrolled
  for (int first = 0; first < count; first += kAhead) {
    rows.convert(lane);
    if (first == 0) chunks.rows_came(lane);
    if (first + kAhead < count) rows.load(chunks.own, first + kAhead, count);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int now = first + i;
      if (now >= count) break;
      if (now % kChunk == 0) chunk = chunks.await();
      add_digits(sums, zeros, chunk + now % kChunk * kRecordBytes, rows.of(i), rows.unit[i], lane);
      if (now % kChunk == kChunk - 1 || now == count - 1) chunks.leave(all, lane);
    }
    __syncwarp();
  }
  // From digits to numbers: lanes of two parts have a row.
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = lane % 2 == 0 ? fmaf(256, sums[t][2 * half + 1], sums[t][2 * half]) : sums[t][2 * half] * 65536;
      sum += __shfl_xor_sync(~0u, sum, 1);
      const float other = __shfl_xor_sync(~0u, sum, 2), unit = 0.0625f / unit_of(half);
      sums[t][2 * half] = sum * unit, sums[t][2 * half + 1] = other * unit;
    }
  return rows.greatest < 0x7f800000u;
}
#endif

/// [row][column] of the warp.
__device__ inline void keep_sums(float* to, const Quad (&sums)[kTiles], const Numbers& scale, int lane) {
  const int row = lane / 4, part = lane % 4;
  __syncwarp();  // All of the warp have read the weights there.
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (2 * part + i % 2 < kM)
        to[(2 * part + i % 2) * kPitch + t * 16 + i / 2 * 8 + row] = sums[t][i] * (scale[t][i / 2] * unit_of(i / 2));
}

/// What the block's warps, or the cluster's, keep of a row and kPack columns; `each` bytes are a warp's.
__device__ inline void add_sums(Real (&v)[kPack], const char* kept, int each, int m, int column) {
#pragma unroll
  for (int rank = 0; rank < (kCluster ? kSplits : 1); ++rank)
#pragma unroll
    for (int d = 0; d < kDeep; ++d) {
      const char* const of = kept + (d * kAcross + column / kOwnColumns) * each;
      float sum[kPack];
      load_sums(sum, reinterpret_cast<const float*>(of) + m * kPitch + column % kOwnColumns, rank);
#pragma unroll
      for (int k = 0; k < kPack; ++k) v[k] += Real(sum[k]);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock, kWarps > 8 && kTiles > 1 ? 1 : 2)
    kernel(const X* __restrict__ x, const char* __restrict__ records, const char* __restrict__ scales,
           const char* __restrict__ zeros, Y* __restrict__ y, float* __restrict__ partial, i64 slots, i64 lets,
           i64 window EPILOGUE_PARAMETERS) {
  extern __shared__ uint4 memory[];
  X* const rows = reinterpret_cast<X*>(memory);
#if DIGITS
  char* const chunks_at = reinterpret_cast<char*>(memory) + kWarps * kAhead * kDigitWords * 4;
#else
  char* const chunks_at = reinterpret_cast<char*>(rows + (kAhead == 0 ? kM * kRow : 0));
#endif
  const int own_bytes = int(slots) * kChunkBytes;  // Of a warp's chunks, whose place its sums take.
  const u32 barriers = shared_address(chunks_at) + kWarps * own_bytes;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, deep = warp / kAcross;
  const int split = blockIdx.x % kSplits, group = blockIdx.x / kSplits, own = group * kAcross + warp % kAcross;
#if __CUDA_ARCH__ >= 900
  // Blocks without columns: each multiprocessor has as many, so that those of the launch behind get one each, too.
  if (group * kColumns >= kN) {
    if (threadIdx.x == 0) release_next();
    asm volatile("griddepcontrol.wait;" ::: "memory");
    return;
  }
#endif
  const bool any = own * kOwnColumns < kN;
  const int first = split * kPiece, left = any ? kSteps - first : 0;  // Steps.
  const OwnSteps steps{left < kPiece ? (left < 0 ? 0 : left) : kPiece, deep};
  // `lets` in a hundred of the first warp's chunks, and one at least; above a hundred: when rows are here.
  const int part = (steps.chunks() * int(lets) + 99) / 100, release_at = warp == 0 ? (lets > 100 ? -1 : part > 0 ? part : 1) : 0;
  const char* const from = records + (u64(own) * kSteps + first) * kRecordBytes;
  Chunks chunks{steps,      chunks_at + warp * own_bytes, barriers + warp * int(slots) * 8, from, from + deep * kChunkBytes,
                int(slots), release_at};
  chunks.begin(int(window), lane);
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
  const int m = lane / 4 < kM ? lane / 4 : 0;  // Others' sums are not kept.
  if constexpr (kAhead == 0) load_rows(rows, x, first * kStep, deep, warp % kAcross * 32 + lane);
  const X* const row = kAhead == 0 ? rows + m * kRow : x + locate<XRowAt>(Index(m)) + first * kStep;
  Quad sums[kTiles] = {};
  const OwnRow own_row{row + lane % 4 * 8, first * kStep + lane % 4 * 8};
#if DIGITS
  DigitRows digits{x + first * kStep + lane * 4, first * kStep + lane * 4, reinterpret_cast<char*>(memory)};
  digits.place(warp, lane);
  const bool done = multiply_digits(sums, zero, chunks, digits, lane);
#else
  const bool done = multiply_chunks(sums, zero, chunks, own_row, lane);
#endif
  if (!done) multiply_again(sums, zero, chunks, own_row, lane);
  keep_sums(reinterpret_cast<float*>(chunks.places), sums, scale, lane);
  meet();
  // Blocks of a cluster finish a part of the columns each.
  constexpr int kFinished = kCluster ? kColumns / kSplits : kColumns, kPacks = kFinished / kPack;
  for (int i = threadIdx.x; i < kM * kPacks; i += kWarps * 32) {
    const int m = i / kPacks, c = (kCluster ? split * kFinished : 0) + i % kPacks * kPack;
    const int column = group * kColumns + c;
    if (column >= kN) continue;
    Real v[kPack] = {};
    add_sums(v, chunks_at, own_bytes, m, c);
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
