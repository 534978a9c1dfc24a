// First convolutions of images of bytes and the max pooling behind them, in windows of two or three places two apart (sm_90a).
// Scales are positive and the rest never falls, so that the greatest sum gives the greatest byte: sums are pooled, and only
// the largest ones are scaled and rounded. The convolution's result is never written.
// A block takes a strip of the image down a segment of pooled rows. Rows of the image come to a ring of kRing parts in shared
// memory, two groups of kStride1 rows in each, pixels of kPixel bytes side by side: those of the next pooled row while this one
// is multiplied.
// A warp multiplies kPairs matrices of 16 columns of a row of the convolution; a thread has 2 * kPairs columns that are side by
// side. Of the pixels under one, a group of rows is 4 * kTaken words, kTaken of which are the thread's, words of each row side
// by side. The next row of the convolution has all groups but the first one under it as well: a thread keeps them in registers,
// and weights lie in shared memory for each turn of the ring that groups make there (quantized/pooled_stem_cuda.cpp), as warp
// groups take them, in panels of 128 bytes; columns in the order in which a thread has kRun side by side.

enum : int { kOfWarp = 8 * kPairs - (kPool2 == 3 ? 1 : 0), kStrip = kWarps * kOfWarp };  // Pooled columns.
// Ahead of a strip's first pooled column; vectors of pixels begin at multiples of kVector.
enum : int { kBefore = kPoolBegin2 * kStride2 + kBegin2, kShift = (kBefore + kVector - 1) / kVector * kVector };
static_assert(2 * kStrip * kStride2 % kVector == 0, "whole vectors");
// Bytes: between columns of the convolution, of which each second one begins a word, and ahead of the first one.
enum : int { kApart = kStride2 * kPixel, kPairWords = 2 * kApart / 4, kAhead = (kShift - kBefore) * kPixel };
static_assert(2 * kApart % 4 == 0, "pairs of columns are whole words");
// Threads that share a row of the window; of a row, bytes ahead of its first pixel that have no weights, or bytes by which the
// first column's words lie apart from those of memory.
enum : int { kSharers = kStride1 == 1 ? 4 : kStride1 == 2 ? 2 : 1, kTurned = kAhead % 4 - kLead };
enum : int { kGroups = (kKernel1 + kStride1 - 1) / kStride1, kSteps = (kGroups * kTaken + 1) / 2 };
// Whether columns that begin with a word have words in common.
enum : bool { kShares = (kApart % 4 == 0 ? 1 : 2) * kApart < 4 * kTaken };
enum : int { kReadWords = ((2 * kPairs - 1) * kApart + kTurned + 4 * kTaken + 3) / 4 };
enum : int { kReach = (kWarps - 1) * kOfWarp * kPairWords + 8 * kPairs * kPairWords + kAhead / 4 + kSharers * kTaken + 1 };
enum : int { kRowVectors = (kReach + kPixel - 1) / kPixel };
// Words of a row, an odd number of them, so that rows of a group lie in different banks.
enum : int { kPitch = kRowVectors * kPixel | 1 };
// Rows of the image between pooled rows, and groups of a pooled row's windows.
enum : int { kRowsEach = 2 * kStride1, kParts = (kPool1 - 1 + kGroups + 1) / 2, kRing = kParts + 1, kPart = kRowsEach * kPitch };
enum : int { kVectors = kRowsEach * kRowVectors, kItems = (kVectors + kBlock - 1) / kBlock };
enum : int { kStrips = (kPooled2 + kStrip - 1) / kStrip, kSegments = (kPooled1 + kSegment - 1) / kSegment };
#define kTiles (kImages * kSegments * kStrips)
enum : int { kRun = kSlab / 4, kSlabs = kN / kSlab };
/// A thread's factors of a slab, and 16 bytes between those of threads, which would meet in the same banks.
enum : int { kFactors = kRun / 2 + 1, kFactorBytes = kSlabs * 4 * kFactors * 16 };
enum : int { kLowest = -2147483647 - 1 };
// Of three rows of the convolution the first one is the last one of the pooled row ahead.
enum : int { kLater = kPool1 - 2, kUnrolled = kTurns == 4 ? 2 : 1 };

/// Pixels of kBytes, of four that are words.
template <int kBytes>
__device__ inline void pack_pixels(const uint4& from, u32 (&to)[kBytes]) {
  if constexpr (kBytes == 4) {
    to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w;
  } else if constexpr (kBytes == 3) {
    to[0] = __byte_perm(from.x, from.y, 0x4210), to[1] = __byte_perm(from.y, from.z, 0x5421);
    to[2] = __byte_perm(from.z, from.w, 0x6542);
  } else if constexpr (kBytes == 2) {
    to[0] = __byte_perm(from.x, from.y, 0x5410), to[1] = __byte_perm(from.z, from.w, 0x5410);
  } else {
    to[0] = __byte_perm(__byte_perm(from.x, from.y, 0x0040), __byte_perm(from.z, from.w, 0x0040), 0x5410);
  }
}

/// Pixels of three bytes, of words of as many planes.
__device__ inline void join_three(u32 r, u32 g, u32 b, u32 (&to)[3]) {
  to[0] = __byte_perm(__byte_perm(r, g, 0x1040), b, 0x3410);  // r0 g0 b0 r1
  to[1] = __byte_perm(__byte_perm(g, b, 0x2051), r, 0x3610);  // g1 b1 r2 g2
  to[2] = __byte_perm(__byte_perm(b, r, 0x3072), g, 0x3710);  // b2 r3 g3 b3
}
/// A vector of pixels as they come.
template <int kBytes>
__device__ inline void pack_vector(const u32 (&words)[kLoaded], u32 (&pixels)[kBytes]) {
  if constexpr (kVectorPlanes && kBytes == 3) {
    u32 planes[kWords];
    round_planes(words, planes);
    join_three(planes[0], planes[1], planes[2], pixels);
  } else {
    pack_pixels(Vector(words).pixels[0], pixels);
  }
}

struct Part {
  u32 words[kItems][kLoaded];

  __device__ void load(const Pixel* image, int i1, int i2) {
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kBlock + threadIdx.x;
      if (kVectors % kBlock == 0 || i < kVectors) load_vector(image, i1 + i / kRowVectors, i2 + i % kRowVectors * kVector, words[k]);
    }
  }
  __device__ void store(u32* ring, int number) const {
    u32* part = ring + number % kRing * kPart;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kBlock + threadIdx.x;
      if (kVectors % kBlock != 0 && i >= kVectors) continue;
      u32 pixels[kPixel];
      pack_vector(words[k], pixels);
#pragma unroll
      for (int j = 0; j < kPixel; ++j) part[i / kRowVectors * kPitch + i % kRowVectors * kPixel + j] = pixels[j];
    }
  }
};

/// The pixels under a thread's columns: matrices by steps of the depth, of which each has two words of two columns.
struct Pixels {
  u32 v[kPairs][kSteps][4];

  __device__ Pixels() {
    // A word behind the last one has no weights.
#pragma unroll
    for (int m = 0; m < kPairs; ++m) v[m][kSteps - 1][2] = v[m][kSteps - 1][3] = 0;
  }
  __device__ u32& at(int column, int word) { return v[column / 2][word / 2][word % 2 * 2 + column % 2]; }
  template <int kPlace>
  __device__ void take(const u32* from) {
    u32 read[kReadWords + 1];
#pragma unroll
    for (int i = 0; i < kReadWords; ++i) read[i] = from[i];
    read[kReadWords] = 0;
#pragma unroll
    for (int c = 0; c < 2 * kPairs; ++c)
#pragma unroll
      for (int i = 0; i < kTaken; ++i) {
        const int first = c * kApart + kTurned, word = first / 4 + i;
        u32& to = at(c, kPlace * kTaken + i);
        if (first % 4 != 0) to = __byte_perm(read[word], read[word + 1], 0x3210 + first % 4 * 0x1111);
        else if (!kShares || c == 0) to = read[word];
        // Of words that are operands of two columns ptxas 13.0 loses one behind products under way.
        else asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(shared_address(from + word)) : "memory");
      }
  }
  /// The first group of rows leaves where they have no turns.
  __device__ void shift() {
    if constexpr (kTurns == 1) {
#pragma unroll
      for (int w = 0; w < (kGroups - 1) * kTaken; ++w)
#pragma unroll
        for (int c = 0; c < 2 * kPairs; ++c) at(c, w) = at(c, w + kTaken);
    }
  }
};

/// Where the weights of a step lie at a turn (order_of_steps of quantized/pooled_stem_cuda.cpp).
constexpr int step_place(int turn, int s) {
  constexpr int kOf = kTaken % 2 == 0 ? 1 : 2, kEach = kOf * kTaken / 2;
  return kTurns == 1 ? s : (s / kEach * kOf - turn + kGroups) % kGroups * kEach + s % kEach;
}

using Sums = int[kPairs][kN / 2];

template <int kTurn>
__device__ inline void start_row(Sums& sums, const Pixels& pixels, u64 b) {
  products_begin();
  // By steps, accumulators in turns, ptxas would wait for each product.
#pragma unroll
  for (int m = 0; m < kPairs; ++m)
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int place = step_place(kTurn, s);
      // The place lies in the descriptor's lowest bits.
      const u64 weights = b >> 32 << 32 | u32(u32(b) + (place / 4 * (kN * 128 / 16) + place % 4 * 2));
      group_product(sums[m], pixels.v[m][s], weights, s > 0);
    }
  products_commit();
}
__device__ inline void finish_row(Sums& sums) {
  products_wait<0>();
#pragma unroll
  for (int i = 0; i < kPairs * kN / 2; ++i) asm volatile("" : "+r"(sums[i / (kN / 2)][i % (kN / 2)])::"memory");
}

/// A thread's columns of the convolution, of which some may lie outside of its result.
struct Columns {
  int first;
  __device__ bool has(int i) const { return first + i >= 0 && first + i < kOut2; }
  __device__ bool has_all() const { return has(0) && has(2 * kPairs - 1); }
};
/// The greatest sums of a row under pooled columns.
using Greatest = int[kPairs][kN / 4];
__device__ inline void pool_row(Greatest& greatest, Sums& sums, const Columns& columns, bool has_row) {
  if (!__all_sync(0xffffffffu, has_row && columns.has_all())) {
#pragma unroll
    for (int m = 0; m < kPairs; ++m)
#pragma unroll
      for (int i = 0; i < kN / 2; ++i)
        if (!has_row || !columns.has(2 * m + i % 4 / 2)) sums[m][i] = kLowest;
  }
#pragma unroll
  for (int m = 0; m < kPairs; ++m)
#pragma unroll
    for (int i = 0; i < kN / 4; ++i) {
      const int at = i / 2 * 4 + i % 2;
      greatest[m][i] = max(sums[m][at], sums[m][at + 2]);
      if constexpr (kPool2 == 3)
        greatest[m][i] = max(greatest[m][i], m + 1 < kPairs ? sums[(m + 1) % kPairs][at] : __shfl_down_sync(0xffffffffu, sums[0][at], 4));
    }
}
__device__ inline void take_greater(Greatest& greatest, const Greatest& others) {
#pragma unroll
  for (int m = 0; m < kPairs; ++m)
#pragma unroll
    for (int i = 0; i < kN / 4; ++i) greatest[m][i] = max(greatest[m][i], others[m][i]);
}

__device__ inline int column_of(int slab) { return slab * kSlab + threadIdx.x % 4 * kRun; }

__device__ inline void store_pooled(const int (&greatest)[kN / 4], Y* y, Index pixel, const float4* factors, const int* shifts EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    const float4* factor = factors + (slab * 4 + threadIdx.x % 4) * kFactors;
    float v[kRun];
#pragma unroll
    for (int j = 0; j < kRun / 2; ++j) {
      const int* sum = greatest + slab * kRun + 2 * j;
      int2 shift = make_int2(0, 0);
      if constexpr (kZero != 0) shift = *reinterpret_cast<const int2*>(shifts + column_of(slab) + 2 * j);
      const float4 f = factor[j];
      v[2 * j] = fmaf(number_of(sum[0] - shift.x), f.x, f.y);
      v[2 * j + 1] = fmaf(number_of(sum[1] - shift.y), f.z, f.w);
    }
    const Index at = pixel * kN + column_of(slab);
    epilogue<kRun>(v, at EPILOGUE_ARGUMENTS);
    store_run<kRun>(y, at, v);
  }
}

struct Tile {
  int image, row, strip;
};
__device__ inline Tile tile_of(int number) {
  return {number / (kStrips * kSegments), number / kStrips % kSegments * kSegment, number % kStrips};
}

/// Down a segment of pooled rows.
struct Descent {
  const Pixel* image;
  u32* ring;
  const u32* own;  ///< The thread's first word of a group.
  u64 b;
  int i1, i2, row, count;
  Columns columns;
  Part next;
  Pixels pixels;
  Greatest kept;

  __device__ const u32* group(int number) const { return own + number / 2 % kRing * kPart + number % 2 * (kStride1 * kPitch); }
  __device__ bool has_row(int i) const { return row + i >= 0 && row + i < kOut1; }
  __device__ void load(int part) {
    if (part < count + kParts - 1) next.load(image, i1 + part * kRowsEach, i2);
  }
  template <int kGroup = 0>
  __device__ __forceinline__ void take_first() {
    if constexpr (kGroup < kGroups - 1) {
      pixels.template take<kTurns == 1 ? kGroup + 1 : kGroup>(group(kGroup));
      take_first<kGroup + 1>();
    }
  }
  template <int kTurn>
  __device__ void take_next(int i) {
    pixels.shift();
    pixels.template take<(kTurn + kGroups - 1) % kGroups>(group(i + kGroups - 1));
  }
  __device__ void pool(Greatest& greatest, Sums& sums, int i) const {
    finish_row(sums);
    pool_row(greatest, sums, columns, has_row(i));
  }
  __device__ __forceinline__ void begin() {
    take_first();
    if constexpr (kLater == 1) {
      Sums sums;
      take_next<0>(0);
      start_row<0>(sums, pixels, b);
      pool(kept, sums, 0);
    }
  }
  /// Sums of pooled row `t` of the segment; the image's rows for the next one come to shared memory meanwhile.
  template <int kEvenness>
  __device__ __forceinline__ void pooled_row(int t, Greatest& greatest) {
    constexpr int kTurn = (2 * kEvenness + kLater) % kTurns, kNextTurn = (kTurn + 1) % kTurns;
    const int i = 2 * t + kLater;
    {
      Sums sums;
      take_next<kTurn>(i);
      start_row<kTurn>(sums, pixels, b);
      if (t + 1 < count) next.store(ring, t + kParts);
      load(t + kParts + 1);
      pool(greatest, sums, i);
    }
    if constexpr (kLater == 1) take_greater(greatest, kept);
    Sums sums;
    take_next<kNextTurn>(i + 1);
    start_row<kNextTurn>(sums, pixels, b);
    pool(kept, sums, i + 1);
    take_greater(greatest, kept);
  }
};

extern "C" __global__ void __launch_bounds__(kBlock, kBlocksEach)
    kernel(const Pixel* __restrict__ x, const uint4* __restrict__ weights, Y* __restrict__ y, const float4* __restrict__ factors,
           const int* __restrict__ shifts EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char shared[];
  u32* filters = reinterpret_cast<u32*>(shared + (1024 - shared_address(shared) % 1024) % 1024);
  float4* own_factors = reinterpret_cast<float4*>(filters + kN * kPitchB);
  u32* ring = reinterpret_cast<u32*>(own_factors) + kFactorBytes / 4;
  const u32 loaded = shared_address(ring + kRing * kPart + kRing * kPart % 2);  // A barrier.
  if (threadIdx.x == 0) {
    barrier_create(loaded, 1);
    barriers_visible();
    barrier_expect(loaded, kN * kPitchB * 4);
    fetch_bytes(shared_address(filters), weights, kN * kPitchB * 4, loaded);
  }
  for (int i = threadIdx.x; i < kN / 2; i += kBlock) own_factors[i / (kRun / 2) * kFactors + i % (kRun / 2)] = factors[i];
  begin_kernel();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quarter = lane % 4;
  const int of_group = min(quarter / kSharers, kStride1 - 1) * kPitch + quarter % kSharers * kTaken;
  Descent descent;
  descent.ring = ring;
  descent.own = ring + (warp * kOfWarp + lane / 4 * kPairs) * kPairWords + kAhead / 4 + of_group;
  descent.b = rows_descriptor<128>(shared_address(filters));
  for (int number = blockIdx.x; number < kTiles; number += gridDim.x) {
    const Tile tile = tile_of(number);
    const int own_column = warp * kOfWarp + lane / 4 * kPairs, column = tile.strip * kStrip + own_column;
    descent.image = x + Index(tile.image) * Index(XN);
    descent.count = min(int(kSegment), kPooled1 - tile.row);
    descent.row = 2 * tile.row - kPoolBegin1;
    descent.i1 = descent.row * kStride1 - kBegin1, descent.i2 = tile.strip * (2 * kStrip * kStride2) - kShift;
    descent.columns.first = 2 * column - kPoolBegin2;
    {
      Part parts[kParts];
#pragma unroll
      for (int i = 0; i < kParts; ++i) parts[i].load(descent.image, descent.i1 + i * kRowsEach, descent.i2);
      descent.load(kParts);
      // All have read the tile ahead.
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kParts; ++i) parts[i].store(ring, i);
    }
    __syncthreads();
    if (number == blockIdx.x) barrier_wait(loaded, 0);
    descent.begin();
    const auto finish = [&](int t, const Greatest& greatest) {
#pragma unroll
      for (int m = 0; m < kPairs; ++m)
        if (lane / 4 * kPairs + m < kOfWarp && column + m < kPooled2)
          store_pooled(greatest[m], y, (Index(tile.image) * kPooled1 + tile.row + t) * kPooled2 + column + m, own_factors, shifts EPILOGUE_ARGUMENTS);
    };
    for (int t = 0; t < descent.count; t += kUnrolled) {
      // The part that comes takes the place of one that all have read before they came here.
      if (t > 0) __syncthreads();
      Greatest greatest;
      descent.template pooled_row<0>(t, greatest);
      finish(t, greatest);
      if constexpr (kUnrolled == 2) {
        if (t + 1 == descent.count) break;
        __syncthreads();
        descent.template pooled_row<1>(t + 1, greatest);
        finish(t + 1, greatest);
      }
    }
  }
}
