// First convolutions of images of bytes, of up to four channels, on tensor cores (sm_80; floats of 8 bits sm_89). The part
// of the image that a tile of the result needs lies in shared memory with four bytes a pixel, places in the border with the
// zero point, so that an operand of four bytes is a pixel under a tap: the depth is the taps, one after the other.
// Images of reals are quantized on the way there (quantized/stem_image.cu).
// Weights: [kN][kPitchB] words of four channels, those of taps t and t + 4 of eight beside each other; columns in the order
// in which a thread has kRun that lie beside each other. Shifts: a column's sum of the zero point.
// With GROUP_PRODUCTS (sm_90a) warp groups multiply: each warp's pixels in its registers by all columns, whose weights lie in
// shared memory as such products take them, taps one behind the other in panels of 128 bytes.

enum : int { kColumns = 16 };  // Of a tile, one matrix high.
enum : int { kRowsOfWarp = kRows / kWarps, kSteps = (kKernel1 * kKernel2 + 7) / 8 };
enum : int { kPatchRows = (kRows - 1) * kStride1 + (kKernel1 - 1) * kDilation1 + 1 };
// Vectors of pixels begin at multiples of kVector in the image.
enum : int { kShift = (kBegin2 + kVector - 1) / kVector * kVector };
enum : int { kReach = (kColumns - 1) * kStride2 + (kKernel2 - 1) * kDilation2 + 1 + kShift - kBegin2 };
// A tile's first place is a multiple of kVector as well.
static_assert(kColumns * kStride2 % kVector == 0, "whole vectors");
enum : int { kPatchVectors = (kReach + kVector - 1) / kVector, kPatchPitch = kPatchVectors * kVector };
enum : int { kTiles1 = (kOut1 + kRows - 1) / kRows, kTiles2 = (kOut2 + kColumns - 1) / kColumns };
#define kTiles (kImages * kTiles1 * kTiles2)
enum : int { kRun = kSlab / 4, kSlabs = kN / kSlab };

enum : int { kVectors = kPatchRows * kPatchVectors, kItems = (kVectors + kBlock - 1) / kBlock };
enum : int { kPatch = kPatchRows * kPatchPitch };

struct Tile {
  int image, out1, out2;
};
__device__ inline Tile tile_of(int number) {
  return {number / (kTiles2 * kTiles1), number / kTiles2 % kTiles1 * kRows, number % kTiles2 * kColumns};
}
/// The part of the image that a tile needs; it is loaded while the tile ahead is multiplied.
struct Patch {
  u32 words[kItems][kLoaded];

  __device__ void load(const Pixel* x, int number) {
    if (number >= kTiles) return;
    const Tile tile = tile_of(number);
    const Pixel* image = x + Index(tile.image) * Index(XN);
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kBlock + threadIdx.x;
      if (kVectors % kBlock == 0 || i < kVectors)
        load_vector(image, tile.out1 * kStride1 - kBegin1 + i / kPatchVectors,
                    tile.out2 * kStride2 - kShift + i % kPatchVectors * kVector, words[k]);
    }
  }
  __device__ void store(u32* patch) const {
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int i = k * kBlock + threadIdx.x;
      if (kVectors % kBlock != 0 && i >= kVectors) continue;
      Vector(words[k]).store(patch + i * kVector);
    }
  }
};

/// Where a tap's pixel lies; behind the last one, whose weights are 0, anywhere.
__device__ inline int place_of_tap(int tap) {
  return tap < kKernel1 * kKernel2 ? tap / kKernel2 * kDilation1 * kPatchPitch + tap % kKernel2 * kDilation2 : 0;
}

struct Taps {
  int low[kSteps], high[kSteps];
  __device__ Taps() {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) low[s] = place_of_tap(s * 8 + threadIdx.x % 4), high[s] = place_of_tap(s * 8 + 4 + threadIdx.x % 4);
  }
};

struct Sums {
#if GROUP_PRODUCTS
  Accumulator v[kRowsOfWarp][kN / 2];
  __device__ Accumulator& at(int i, int j, int k) { return v[i][j * 4 + k]; }
  __device__ Accumulator at(int i, int j, int k) const { return v[i][j * 4 + k]; }
#else
  Accumulator v[kRowsOfWarp][kN / 8][4];
  __device__ Accumulator& at(int i, int j, int k) { return v[i][j][k]; }
  __device__ Accumulator at(int i, int j, int k) const { return v[i][j][k]; }
#endif
};
__device__ inline int column_of(int slab) { return slab * kSlab + threadIdx.x % 4 * kRun; }

__device__ inline void start_sums(Sums& sums, const int* shifts) {
#pragma unroll
  for (int j = 0; j < kN / 8; ++j)
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      Accumulator start = 0;
      if constexpr (kZero != 0) start = -shifts[column_of(j / (kSlab / 8)) + j % (kSlab / 8) * 2 + k];
#pragma unroll
      for (int i = 0; i < kRowsOfWarp; ++i) sums.at(i, j, k) = sums.at(i, j, k + 2) = start;
    }
}

#if GROUP_PRODUCTS
__device__ inline void multiply_tile(Sums& sums, const u32* patch, const u32* filters, const Taps& taps) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32* from = patch + warp * kRowsOfWarp * kStride1 * kPatchPitch + lane / 4 * kStride2 + kShift - kBegin2;
  const u64 b = rows_descriptor<128>(shared_address(filters));
#pragma unroll
  for (int i = 0; i < kRowsOfWarp; ++i) {
    const u32* row = from + i * kStride1 * kPatchPitch;
    u32 a[kSteps][4];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      a[s][0] = row[taps.low[s]], a[s][1] = row[taps.low[s] + 8 * kStride2];
      a[s][2] = row[taps.high[s]], a[s][3] = row[taps.high[s] + 8 * kStride2];
    }
    products_begin();
#pragma unroll
    for (int s = 0; s < kSteps; ++s) group_product(sums.v[i], a[s], b + s / 4 * (kN * 128 / 16) + s % 4 * 2, 1);
    products_commit();
    // Their operands' registers are free then.
    if (i > 0) products_wait<1>();
  }
  products_wait<0>();
#pragma unroll
  for (int i = 0; i < kRowsOfWarp * kN / 2; ++i) asm volatile("" : "+r"(sums.v[i / (kN / 2)][i % (kN / 2)])::"memory");
}
#else
__device__ inline void multiply_tile(Sums& sums, const u32* patch, const u32* filters, const Taps& taps) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32* from = patch + warp * kRowsOfWarp * kStride1 * kPatchPitch + lane / 4 * kStride2 + kShift - kBegin2;
  const u32* factors = filters + lane / 4 * kPitchB + lane % 4 * 2;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    uint2 b[kN / 8];
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) b[j] = *reinterpret_cast<const uint2*>(factors + j * 8 * kPitchB + s * 8);
#pragma unroll
    for (int i = 0; i < kRowsOfWarp; ++i) {
      const u32* row = from + i * kStride1 * kPatchPitch;
      const u32 a[4] = {row[taps.low[s]], row[taps.low[s] + 8 * kStride2], row[taps.high[s]], row[taps.high[s] + 8 * kStride2]};
#pragma unroll
      for (int j = 0; j < kN / 8; ++j) multiply_bytes(sums.v[i][j], a, b[j].x, b[j].y);
    }
  }
}

#endif

__device__ inline void store_tile(const Sums& sums, Y* y, const float4* factors, int image, int out1, int out2 EPILOGUE_PARAMETERS) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    float4 factor[kRun / 2];
#pragma unroll
    for (int j = 0; j < kRun / 2; ++j) factor[j] = factors[column_of(slab) / 2 + j];
#pragma unroll
    for (int i = 0; i < kRowsOfWarp; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int o1 = out1 + i, o2 = out2 + lane / 4 + half * 8;
        float v[kRun];
#pragma unroll
        for (int j = 0; j < kRun / 2; ++j) {
          const int column = slab * (kSlab / 8) + j;
          v[2 * j] = fmaf(number_of(sums.at(i, column, 2 * half)), factor[j].x, factor[j].y);
          v[2 * j + 1] = fmaf(number_of(sums.at(i, column, 2 * half + 1)), factor[j].z, factor[j].w);
        }
        if (o1 >= kOut1 || o2 >= kOut2) continue;
        const Index at = ((Index(image) * kOut1 + o1) * kOut2 + o2) * kN + column_of(slab);
        epilogue<kRun>(v, at EPILOGUE_ARGUMENTS);
        store_run<kRun>(y, at, v);
      }
  }
}

#if GROUP_PRODUCTS
#define LAUNCH_BOUNDS kBlock, kBlocksEach
#else
#define LAUNCH_BOUNDS kBlock
#endif
extern "C" __global__ void __launch_bounds__(LAUNCH_BOUNDS)
    kernel(const Pixel* __restrict__ x, const uint4* __restrict__ weights, Y* __restrict__ y, const float4* __restrict__ factors,
           const int* __restrict__ shifts EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char shared[];
#if GROUP_PRODUCTS
  u32* filters = reinterpret_cast<u32*>(shared + (1024 - shared_address(shared) % 1024) % 1024);
#else
  u32* filters = reinterpret_cast<u32*>(shared);
#endif
  u32* patch = filters + kN * kPitchB;
  for (int i = threadIdx.x; i < kN * kPitchB / 4; i += kBlock) reinterpret_cast<uint4*>(filters)[i] = weights[i];
#if GROUP_PRODUCTS
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  const Taps taps;
  begin_kernel();
  Patch next;
  next.load(x, blockIdx.x);
  for (int number = blockIdx.x, turn = 0; number < kTiles; number += gridDim.x, turn ^= 1) {
    // Of two parts of shared memory, all have read this one before they came to the barrier of the tile ahead.
    u32* own = patch + turn * kPatch;
    next.store(own);
    __syncthreads();
    next.load(x, number + gridDim.x);
    const Tile tile = tile_of(number);
    Sums sums;
    start_sums(sums, shifts);
    multiply_tile(sums, own, filters, taps);
    store_tile(sums, y, factors, tile.image, tile.out1 + threadIdx.x / 32 * kRowsOfWarp, tile.out2 EPILOGUE_ARGUMENTS);
  }
}
