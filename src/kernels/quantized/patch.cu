// Convolutions of bytes with stride 1 and few channels on Hopper. TMA brings the part of the image that a few lines of the
// result need to shared memory once, zeros around it, and every tap reads it from there: results are computed for all places
// of these lines, as far apart as the image's, so that a tap sees 64 of them as 64 rows behind each other. The
// weights stay in shared memory. Each warp group takes tiles of its own; the next one's part comes meanwhile. Windows of one
// tap (kFlat) see all pixels as one line.

constexpr int kBlock = kGroups * 128, kTaps = kKernel1 * kKernel2;
constexpr int kSpan = kFlat ? kParts * 64 : kOut2 + kKernel2 - 1;  // Places of a line.
constexpr int kPatchRows = kLines + kKernel1 - 1;
constexpr int kPatchBytes = kPatchRows * kSpan * kRowBytes;        // That come.
constexpr int kWeightBytes = kN * kRowBytes;                       // Of a tap.
constexpr int kSteps = kRowBytes / 32, kRun = kSlab / 4, kSlabs = kTileN / kSlab, kTilesN = kN / kTileN;
// Tiles of neighbouring columns follow each other.
#if FLAT
#define kTiles (((kImages * (kOut1 * kOut2) + kSpan - 1) / kSpan) * kTilesN)
#else
constexpr int kTiles1 = (kOut1 + kLines - 1) / kLines;
#define kTiles (kImages * kTiles1 * kTilesN)
#endif

/// The first column, and the first line of an image, or (kFlat) pixel of all.
struct Tile {
  int column, image, line;
};
__device__ inline Tile tile_of(int number) {
  const int place = number / kTilesN, column = number % kTilesN * kTileN;
#if FLAT
  return {column, 0, place * kSpan};
#else
  return {column, place / kTiles1, place % kTiles1 * kLines};
#endif
}
/// The number of a place's pixel in the result; of the last pixel where there is none.
__device__ inline Index pixel_of(const Tile& tile, int place, bool& exists) {
#if FLAT
  const Index pixel = tile.line + place, last = Index(kImages) * (kOut1 * kOut2) - 1;
  exists = pixel <= last;
  return exists ? pixel : last;
#else
  const int line = place / kSpan, o2 = place % kSpan;
  exists = line < kLines && o2 < kOut2 && tile.line + line < kOut1;
  return exists ? (Index(tile.image) * kOut1 + tile.line + line) * kOut2 + o2 : Index(kImages) * (kOut1 * kOut2) - 1;
#endif
}

/// A warp group's two parts of shared memory with their barriers.
struct Patches {
  u32 memory, barriers;

  __device__ u32 patch(int turn) const { return memory + turn * kPatchPitch; }
  __device__ u32 barrier(int turn) const { return barriers + turn * 8; }
  /// By one thread.
  __device__ void fetch(const TensorMap& x, int number, int turn) const {
    if (number >= kTiles) return;
    const Tile tile = tile_of(number);
    barrier_expect(barrier(turn), kPatchBytes);
#if FLAT
    fetch_box(patch(turn), x, barrier(turn), 0, tile.line, 0, 0);
#else
    fetch_box(patch(turn), x, barrier(turn), 0, -kBegin2, tile.line - kBegin1, tile.image);
#endif
  }
};

__device__ inline void multiply_tile(Accumulator (&sums)[kParts][kTileN / 2], u32 patch, u32 weights) {
  products_begin();
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    const u32 seen = patch + (tap / kKernel2 * kSpan + tap % kKernel2) * kRowBytes;
    const u64 b = rows_descriptor<kRowBytes>(weights + tap * kWeightBytes);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const u64 a = rows_descriptor<kRowBytes>(seen + part * (64 * kRowBytes));
#pragma unroll
      for (int s = 0; s < kSteps; ++s) group_product(sums[part], a + s * 2, b + s * 2, tap > 0 || s > 0);
    }
  }
  products_commit();
  products_wait<0>();
  // Nothing that is computed from the sums comes above it.
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) asm volatile("" : "+r"(sums[part][i])::"memory");
}

__device__ inline float number_of(int sum) {
  // Conversions are slow; the bits of 1.5 * 2^23 hold numbers below 2^22 beside them.
  if constexpr (kSmallSums) return __int_as_float(sum + 0x4b400000) - 12582912.0f;
  else return float(sum);
}

/// Of each part, slab and half of a thread's rows.
struct Operands {
  EpilogueOperands<kRun> of[kParts][kSlabs][2];
};
__device__ inline int place_of(int part, int half) {
  return part * 64 + threadIdx.x / 32 % 4 * 16 + half * 8 + threadIdx.x % 32 / 4;
}
__device__ inline int column_of(const Tile& tile, int slab) { return tile.column + slab * kSlab + threadIdx.x % 4 * kRun; }

__device__ inline void fetch_operands(Operands& to, const Tile& tile EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      bool exists;
      const Index row = pixel_of(tile, place_of(part, half), exists) * Index(kN);
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab)
        fetch_epilogue<kRun>(to.of[part][slab][half], row + Index(column_of(tile, slab)) EPILOGUE_ARGUMENTS);
    }
}
__device__ inline void store_tile(const Accumulator (&sums)[kParts][kTileN / 2], const Operands& operands, Y* y,
                                  const float4* factors, const Tile& tile) {
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    const int column = column_of(tile, slab);
    float4 factor[kRun / 2];
#pragma unroll
    for (int j = 0; j < kRun / 2; ++j) factor[j] = factors[column / 2 + j];
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float v[kRun];
#pragma unroll
        for (int j = 0; j < kRun / 2; ++j) {
          const int s = (slab * kSlab + j * 8) / 2 + half * 2;
          v[2 * j] = fmaf(number_of(sums[part][s]), factor[j].x, factor[j].y);
          v[2 * j + 1] = fmaf(number_of(sums[part][s + 1]), factor[j].z, factor[j].w);
        }
        apply_epilogue<kRun>(v, operands.of[part][slab][half]);
        bool exists;
        const Index pixel = pixel_of(tile, place_of(part, half), exists);
        if (exists) store_run<kRun>(y, pixel * Index(kN) + Index(column), v);
      }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    kernel(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, Y* __restrict__ y,
           const float4* __restrict__ factors EPILOGUE_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  release_next();
  const u32 weights = (shared_address(raw) + 1023) / 1024 * 1024, patches = weights + kWeightsPitch;
  const u32 barriers = patches + kGroups * 2 * kPatchPitch, loaded = barriers + kGroups * 16;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kGroups * 2; ++i) barrier_create(barriers + i * 8, 1);
    barrier_create(loaded, 1);
    barriers_visible();
    fetch_map(x);
    fetch_map(w);
    // Constants are there before the kernel ahead has ended.
    barrier_expect(loaded, kTaps * kWeightBytes);
    for (int tap = 0; tap < kTaps; ++tap) fetch_box(weights + tap * kWeightBytes, w, loaded, tap * kRowBytes, 0, 0);
  }
  __syncthreads();
  wait_previous();
  const int group = threadIdx.x / 128, step = gridDim.x * kGroups;
  const bool speaks = threadIdx.x % 128 == 0;
  const Patches own{patches + group * 2 * kPatchPitch, barriers + group * 16};
  // Neighbouring blocks have neighbouring tiles.
  const int first = group * gridDim.x + blockIdx.x;
  if (speaks) own.fetch(x, first, 0);
  barrier_wait(loaded, 0);
  for (int number = first, turn = 0, phase = 0; number < kTiles; number += step, phase ^= turn, turn ^= 1) {
    // All warps of the group have read the other part.
    barrier_of(1 + group, 128);
    if (speaks) own.fetch(x, number + step, turn ^ 1);
    const Tile tile = tile_of(number);
    Operands operands;
    fetch_operands(operands, tile EPILOGUE_ARGUMENTS);
    barrier_wait(own.barrier(turn), phase);
    Accumulator sums[kParts][kTileN / 2];
    multiply_tile(sums, own.patch(turn), weights + tile.column * kRowBytes);
    store_tile(sums, operands, y, factors, tile);
  }
}
