// Convolutions as those of quantized/patch.cu, of wide images: a warp group has 64 places of a line of the result beside each
// other and goes down the image. The pixels of a line of it that a row of taps sees go to registers once, for all rows of taps,
// which add to as many lines of the result. One of these is complete then, is rounded and leaves while products of the others
// are under way. Lines of the image come to a ring of kStages of a group in shared memory, by TMA.

enum : int { kBlock = kGroups * 128, kTaps = kKernel1 * kKernel2, kSpan = 64 + kKernel2 - 1, kLineBytes = kSpan * kRowBytes };
enum : int { kWeightBytes = kTileN * kRowBytes, kTilesN = kN / kTileN };  // Of a tap.
enum : int { kSteps = kRowBytes / 32, kSums = kTileN / 2 };
enum : int { kStrips = (kOut2 + 63) / 64, kSegments = (kOut1 + kLines - 1) / kLines };
// Tiles of neighbouring columns follow each other.
#define kTiles (kImages * kSegments * kStrips * kTilesN)

/// Lines of the result from `line` on.
struct Tile {
  int image, line, column, count;
};
__device__ inline Tile tile_of(int number WALK_PARAMETERS) {
  const int place = walked(number / kTilesN, kTiles / kTilesN WALK_ARGUMENTS);
  const int line = place / kStrips % kSegments * kLines;
  return {place / (kStrips * kSegments), line, place % kStrips * 64, min(int(kLines), kOut1 - line)};
}

/// A group's lines on their way, of its tiles one after the other. Barriers "full" lie at 16 bytes a line, "empty" 8 bytes
/// behind.
struct Lines {
  u32 memory, barriers;
  int number, next = 0;  ///< The next one that comes: of a tile, as far behind its first one.
  int stage = 0, phase = 0;
  bool is_later = false;  ///< Some line was read.

  __device__ u32 line() const { return memory + stage * kPatchPitch; }
  __device__ u32 full() const { return barriers + stage * 16; }
  /// By one thread, to where the last line was, or, at the start, to each stage but the last one.
  __device__ void fetch(const TensorMap& x, int to, int step WALK_PARAMETERS) {
    if (number >= kTiles) return;
    const Tile tile = tile_of(number WALK_ARGUMENTS);
    const u32 arrived = barriers + to * 16;
    barrier_expect(arrived, kLineBytes);
    fetch_box(memory + to * kPatchPitch, x, arrived, 0, tile.column - kBegin2, tile.line - kBegin1 + next, tile.image,
              POLICY_OF(kImage, IMAGE_ALONE));
    if (++next == tile.count + kKernel1 - 1) next = 0, number += step;
  }
  __device__ void advance() {
    if (++stage == kStages) stage = 0, phase ^= 1;
    is_later = true;
  }
};

/// Under a row of taps: the group's places by steps of the depth.
using Pixels = u32[kKernel2][kSteps][4];
__device__ inline void take_pixels(Pixels& pixels, u32 line) {
  const int lane = threadIdx.x % 32, place = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
  for (int tap = 0; tap < kKernel2; ++tap)
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const u32 at = line + (place + tap) * kRowBytes + s * 32 + lane / 16 * 16;
      // As TMA swizzles pieces of 16 bytes.
      const u32 from = at ^ (at >> 7 & (kRowBytes / 16 - 1)) << 4;
      u32(&to)[4] = pixels[tap][s];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
    }
}

using Sums = Accumulator[kKernel1][kSums];
/// Adds a row of taps to a line of the result, or begins it.
template <int kRow>
__device__ inline void add_taps(Accumulator (&sums)[kSums], const Pixels& pixels, u64 weights) {
#pragma unroll
  for (int tap = 0; tap < kKernel2; ++tap)
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int place = (kRow * kKernel2 + tap) * (kWeightBytes / 16) + s * 2;
      // The place lies in the descriptor's lowest bits.
      group_product(sums, pixels[tap][s], weights >> 32 << 32 | u32(u32(weights) + place), kRow > 0 || tap > 0 || s > 0);
    }
}
__device__ inline void fence_sums(Accumulator (&sums)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}

__device__ inline void store_line(const Accumulator (&sums)[kSums], Y* y, Factors& factors, Index first, int o2,
                                  int column EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    if constexpr (!Factors::kKept) factors.load(slab);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (o2 + half * 8 >= kOut2) continue;
      const Index element = (first + o2 + half * 8) * Index(kN) + Index(column + slab * kSlab);
      float v[kRun];
#pragma unroll
      for (int j = 0; j < kRun / 2; ++j) {
        const int s = (slab * kSlab + j * 8) / 2 + half * 2;
        v[2 * j] = fmaf(number_of(sums[s]), factors.of[j].x, factors.of[j].y);
        v[2 * j + 1] = fmaf(number_of(sums[s + 1]), factors.of[j].z, factors.of[j].w);
      }
      epilogue<kRun>(v, element EPILOGUE_ARGUMENTS);
      store_run<kRun>(y, element, v);
    }
  }
}

/// Line `i` of a tile's image, i % kKernel1 == kTurn: its products, and the line of the result that it completes.
template <int kTurn>
__device__ __forceinline__ void take_line(int i, const Tile& tile, Sums& sums, const TensorMap& x, Lines& lines, int step, u64 weights,
                                          bool speaks, Y* y, Factors& factors, int column WALK_PARAMETERS EPILOGUE_PARAMETERS) {
  constexpr int kLast = kKernel1 - 1, kDone = (kTurn + 1) % kKernel1;
  Pixels pixels;
  barrier_wait(lines.full(), lines.phase);
  take_pixels(pixels, lines.line());
  Accumulator(&begun)[kSums] = sums[kTurn], (&going)[kSums] = sums[(kTurn + kLast) % kKernel1], (&done)[kSums] = sums[kDone];
  products_begin();
  if (i >= kLast && i < tile.count) {
    add_taps<kLast>(done, pixels, weights);
    products_commit();
    if constexpr (kLast == 2) add_taps<1>(going, pixels, weights);
    add_taps<0>(begun, pixels, weights);
    products_commit();
  } else {
    // Of the first lines and the last ones some add to nothing.
    if (i >= kLast) add_taps<kLast>(done, pixels, weights);
    if constexpr (kLast == 2)
      if (i >= 1 && i <= tile.count) add_taps<1>(going, pixels, weights);
    if (i < tile.count) add_taps<0>(begun, pixels, weights);
    products_commit();
    products_wait<0>();
  }
  if (threadIdx.x % 32 == 0) barrier_arrive(lines.full() + 8);
  if (speaks) {
    // All have read the line ahead.
    const int before = lines.stage == 0 ? kStages - 1 : lines.stage - 1;
    if (lines.is_later) barrier_wait(lines.barriers + before * 16 + 8, lines.stage == 0 ? lines.phase ^ 1 : lines.phase);
    lines.fetch(x, before, step WALK_ARGUMENTS);
  }
  __syncwarp();
  lines.advance();
  products_wait<1>();
  fence_sums(done);
  if (i >= kLast) {
    const Index first = (Index(tile.image) * kOut1 + tile.line + i - kLast) * kOut2;
    const int o2 = tile.column + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    store_line(done, y, factors, first, o2, column EPILOGUE_ARGUMENTS);
  }
  products_wait<0>();
#pragma unroll
  for (int r = 0; r < kKernel1; ++r) fence_sums(sums[r]);
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    kernel(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, Y* __restrict__ y,
           const float4* __restrict__ factors EPILOGUE_PARAMETERS WALK_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  release_next();
  const u32 weights = (shared_address(raw) + 1023) / 1024 * 1024, memory = weights + kWeightsPitch;
  const u32 barriers = memory + kGroups * kStages * kPatchPitch, loaded = barriers + kGroups * kStages * 16;
  const int columns = blockIdx.x % kTilesN * kTileN;  // The block's first one.
  if (threadIdx.x == 0) begin_block<kGroups * kStages, 4, kTaps, kWeightBytes>(x, w, weights, barriers, columns);
  const int group = warp_of_block() / 4, step = gridDim.x * kGroups, column = columns + threadIdx.x % 4 * kRun;
  Factors own_factors(factors, column);
  __syncthreads();
  wait_previous();
  const bool speaks = threadIdx.x % 128 == 0;
  // Neighbouring blocks have neighbouring tiles.
  const int first = group * gridDim.x + blockIdx.x;
  Lines lines{memory + group * (kStages * kPatchPitch), barriers + group * (kStages * 16), first};
  if (speaks)
    for (int i = 0; i + 1 < kStages; ++i) lines.fetch(x, i, step WALK_ARGUMENTS);
  Sums sums;
#pragma unroll
  for (int r = 0; r < kKernel1; ++r)
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[r][i] = 0;
  barrier_wait(loaded, 0);
  const u64 b = rows_descriptor<kRowBytes>(weights);
  for (int number = first; number < kTiles; number += step) {
    const Tile tile = tile_of(number WALK_ARGUMENTS);
    const int count = tile.count + kKernel1 - 1;
#define TAKE_LINE(turn) \
  take_line<turn>(i + turn, tile, sums, x, lines, step, b, speaks, y, own_factors, column WALK_ARGUMENTS EPILOGUE_ARGUMENTS)
    for (int i = 0; i < count; i += kKernel1) {
      TAKE_LINE(0);
      if (i + 1 == count) break;
      TAKE_LINE(1);
      if constexpr (kKernel1 == 3) {
        if (i + 2 == count) break;
        TAKE_LINE(2);
      }
    }
  }
}
