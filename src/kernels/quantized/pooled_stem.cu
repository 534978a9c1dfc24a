// First convolutions of images of bytes and the max pooling behind them, in windows of two or three places two apart (sm_90a).
// Scales are positive and the rest never falls, so that the greatest sum gives the greatest byte: sums are pooled, and only
// the largest ones are scaled and rounded. The convolution's result is never written.
// A block takes a strip of the image down a segment of pooled rows. Rows of the image come kRowsEach at a time, those of the
// next pooled row while this one is multiplied, as words of four channels to a ring of kRing such parts in shared memory; the
// first parts lie there a second time behind the last one, so that the rows of a window follow each other.
// A warp has 16 columns of a row of the convolution, of which a thread has two that are side by side; a row of the window is
// kRowTaps words of the depth. Weights lie as warp groups take them, in panels of 128 bytes; columns in the order in which a
// thread has kRun side by side.

enum : int { kOfWarp = kPool2 == 3 ? 7 : 8, kStrip = kWarps * kOfWarp };  // Pooled columns.
// Ahead of a strip's first pooled column; vectors of pixels begin at multiples of kVector.
enum : int { kBefore = kPoolBegin2 * kStride2 + kBegin2, kShift = (kBefore + kVector - 1) / kVector * kVector };
enum : int { kFirst = kShift - kBefore };
static_assert(2 * kStrip * kStride2 % kVector == 0, "whole vectors");
enum : int { kRowTaps = kKernel2 <= 4 ? 4 : 8, kSteps = (kKernel1 * kRowTaps + 7) / 8 };
static_assert(kKernel2 <= 8, "taps of a row");
enum : int { kReach = (2 * kOfWarp * (kWarps - 1) + 15) * kStride2 + kFirst + kRowTaps };
enum : int { kRowVectors = (kReach + kVector - 1) / kVector, kPitch = kRowVectors * kVector };
// Rows of the image: between pooled rows, and of a pooled row's windows.
enum : int { kRowsEach = 2 * kStride1, kWindowRows = (kPool1 - 1) * kStride1 + kKernel1 };
enum : int { kParts = (kWindowRows + kRowsEach - 1) / kRowsEach, kRing = kParts + 1, kPart = kRowsEach * kPitch };
enum : int { kVectors = kRowsEach * kRowVectors, kItems = (kVectors + kBlock - 1) / kBlock };
enum : int { kStrips = (kPooled2 + kStrip - 1) / kStrip, kSegments = (kPooled1 + kSegment - 1) / kSegment };
#define kTiles (kImages * kSegments * kStrips)
enum : int { kRun = kSlab / 4, kSlabs = kN / kSlab };
/// A thread's factors of a slab, and 16 bytes between those of threads, which would meet in the same banks.
enum : int { kFactors = kRun / 2 + 1, kFactorBytes = kSlabs * 4 * kFactors * 16 };
enum : int { kLowest = -2147483647 - 1 };

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
    const int slot = number % kRing;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kBlock + threadIdx.x;
      if (kVectors % kBlock != 0 && i >= kVectors) continue;
      const Vector vector(words[k]);
      u32* to = ring + slot * kPart + i * kVector;
      vector.store(to);
      if (slot + 1 < kParts) vector.store(to + kRing * kPart);
    }
  }
};

/// Sums of a row of the convolution; `from` is the thread's first word of its first column.
__device__ inline void multiply_row(int (&sums)[kN / 2], const u32* from, u64 b) {
  u32 a[kSteps][4];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    // Behind the last row are no weights.
    const int low = kRowTaps == 8 ? s * kPitch : 2 * s * kPitch;
    const int high = kRowTaps == 8 ? low + 4 : low + (2 * s + 1 < kKernel1 ? int(kPitch) : 0);
    a[s][0] = from[low], a[s][1] = from[low + kStride2], a[s][2] = from[high], a[s][3] = from[high + kStride2];
  }
  products_begin();
#pragma unroll
  for (int s = 0; s < kSteps; ++s) group_product(sums, a[s], b + s / 4 * (kN * 128 / 16) + s % 4 * 2, s > 0);
  products_commit();
  products_wait<0>();
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}

/// Two columns of the convolution, of which either may lie outside of its result.
struct Columns {
  bool has_first, has_second;
  __device__ explicit Columns(int first)
      : has_first(first >= 0 && first < kOut2), has_second(first + 1 >= 0 && first + 1 < kOut2) {}
};
/// The greatest sums of a row under a pooled column.
__device__ inline void pool_row(int (&greatest)[kN / 4], int (&sums)[kN / 2], const Columns& columns) {
  if (!__all_sync(0xffffffffu, columns.has_first && columns.has_second)) {
#pragma unroll
    for (int i = 0; i < kN / 2; ++i)
      if (!(i % 4 < 2 ? columns.has_first : columns.has_second)) sums[i] = kLowest;
  }
#pragma unroll
  for (int i = 0; i < kN / 4; ++i) {
    const int first = sums[i / 2 * 4 + i % 2];
    greatest[i] = max(first, sums[i / 2 * 4 + i % 2 + 2]);
    if constexpr (kPool2 == 3) greatest[i] = max(greatest[i], __shfl_down_sync(0xffffffffu, first, 4));
  }
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

extern "C" __global__ void __launch_bounds__(kBlock, kBlocksEach)
    kernel(const Pixel* __restrict__ x, const uint4* __restrict__ weights, Y* __restrict__ y, const float4* __restrict__ factors,
           const int* __restrict__ shifts EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char shared[];
  u32* filters = reinterpret_cast<u32*>(shared + (1024 - shared_address(shared) % 1024) % 1024);
  float4* own_factors = reinterpret_cast<float4*>(filters + kN * kPitchB);
  u32* ring = reinterpret_cast<u32*>(own_factors) + kFactorBytes / 4;
  for (int i = threadIdx.x; i < kN * kPitchB / 4; i += kBlock) reinterpret_cast<uint4*>(filters)[i] = weights[i];
  for (int i = threadIdx.x; i < kN / 2; i += kBlock) own_factors[i / (kRun / 2) * kFactors + i % (kRun / 2)] = factors[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  begin_kernel();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32* own = ring + (warp * 2 * kOfWarp + lane / 4 * 2) * kStride2 + kFirst + lane % 4;
  const u64 b = rows_descriptor<128>(shared_address(filters));
  for (int number = blockIdx.x; number < kTiles; number += gridDim.x) {
    const Tile tile = tile_of(number);
    const Pixel* image = x + Index(tile.image) * Index(XN);
    const int column = tile.strip * kStrip + warp * kOfWarp + lane / 4;
    const int count = min(int(kSegment), kPooled1 - tile.row);
    const int i1 = (2 * tile.row - kPoolBegin1) * kStride1 - kBegin1, i2 = tile.strip * (2 * kStrip * kStride2) - kShift;
    Part parts[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) parts[i].load(image, i1 + i * kRowsEach, i2);
    // All have read the tile ahead.
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kParts; ++i) parts[i].store(ring, i);
    Part& next = parts[0];
    const Columns columns(2 * column - kPoolBegin2);
    int kept[kN / 4];
    for (int t = 0; t < count; ++t) {
      // A part takes the place of one that all have read before they came to the barrier of the row ahead.
      if (t > 0) next.store(ring, t + kParts - 1);
      __syncthreads();
      if (t + 1 < count) next.load(image, i1 + (t + kParts) * kRowsEach, i2);
      const u32* from = own + t % kRing * kPart;
      const int row = 2 * (tile.row + t) - kPoolBegin1;
      int sums[kN / 2], greatest[kN / 4];
      // Of three rows the first one is the last one of the pooled row ahead.
      const bool has_one = kPool1 == 3 && t > 0;
#pragma unroll
      for (int i = 0; i < kN / 4; ++i) greatest[i] = has_one ? kept[i] : int(kLowest);
      for (int r = has_one ? 1 : 0; r < kPool1; ++r) {
        multiply_row(sums, from + r * (kStride1 * kPitch), b);
        if (row + r < 0 || row + r >= kOut1) continue;
        pool_row(kept, sums, columns);
#pragma unroll
        for (int i = 0; i < kN / 4; ++i) greatest[i] = max(greatest[i], kept[i]);
      }
      if (lane / 4 < kOfWarp && column < kPooled2)
        store_pooled(greatest, y, (Index(tile.image) * kPooled1 + tile.row + t) * kPooled2 + column, own_factors, shifts EPILOGUE_ARGUMENTS);
    }
  }
}
