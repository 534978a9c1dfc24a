// Convolutions of bytes with stride 1 and few channels on Hopper. TMA brings the part of the image that a few lines of the
// result need to shared memory once, zeros around it, and every tap reads it from there: results are computed for all places
// of these lines, as far apart as the image's, so that a tap sees 64 of them as 64 rows behind each other. The weights of a
// block's columns, which are always the same, stay in shared memory, and their scales in registers. kAcross warp groups share
// the parts that come, each with columns of its own; such a set takes tiles of its own, and the next kStages - 1 parts come
// meanwhile. Windows of one tap (kFlat) see all pixels as one line, and have up to kPanels rows of channels for each; a
// tensor like the result that they add may come with each part, too (ADDEND_COMES), in boxes of a slab's columns.

enum : int { kBlock = kGroups * 128, kSets = kGroups / kAcross, kTaps = kKernel1 * kKernel2 };
enum : int { kSpan = kFlat ? kParts * 64 : kOut2 + kKernel2 - 1 };  // Places of a line.
enum : int { kPatchRows = kLines + kKernel1 - 1 };
enum : int { kPanelBytes = kPatchRows * kSpan * kRowBytes, kPatchBytes = kPanels * kPanelBytes };  // That come.
enum : int { kOwnN = kAcross * kTileN, kWeightBytes = kOwnN * kRowBytes };                         // Of a tap's panel.
enum : int { kSteps = kRowBytes / 32, kTilesN = kN / kOwnN };
static_assert(kPanels == 1 || kFlat, "panels lie as far apart as what comes");
// Tiles of neighbouring columns follow each other.
#if FLAT
#define kTiles (((kImages * (kOut1 * kOut2) + kSpan - 1) / kSpan) * kTilesN)
#else
enum : int { kTiles1 = (kOut1 + kLines - 1) / kLines };
#define kTiles (kImages * kTiles1 * kTilesN)
#endif

/// The first line of an image, or (kFlat) pixel of all.
struct Tile {
  int image, line;
};
__device__ inline Tile tile_of(int number WALK_PARAMETERS) {
  const int place = walked(number / kTilesN, kTiles / kTilesN WALK_ARGUMENTS);
#if FLAT
  return {0, place * kSpan};
#else
  return {place / kTiles1, place % kTiles1 * kLines};
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

// What the addend's boxes are, behind the image's part.
#if ADDEND_COMES
#define ADDEND_PARAMETERS , const __grid_constant__ TensorMap addends
#define ADDEND_ARGUMENTS , &addends, columns
enum : int { kAddendBoxes = kOwnN / kSlab, kAddendBoxBytes = kSpan * kSlab };
static_assert(kFlat && kSlab == 64, "boxes have lines of 64 bytes");
#else
#define ADDEND_PARAMETERS
#define ADDEND_ARGUMENTS
enum : int { kAddendBoxes = 0, kAddendBoxBytes = 0 };
#endif

/// A set's ring of parts. Barriers "full" lie at 16 bytes a part, "empty" 8 bytes behind.
struct Patches {
  u32 memory, barriers;
#if ADDEND_COMES
  const TensorMap* addends;
  int column;  ///< The block's first one.

  __device__ u32 addend(int stage, int box) const { return patch(stage) + kAddendAt + box * kAddendBoxBytes; }
#endif

  __device__ u32 patch(int stage) const { return memory + stage * kPatchPitch; }
  __device__ u32 full(int stage) const { return barriers + stage * 16; }
  __device__ u32 empty(int stage) const { return barriers + stage * 16 + 8; }
  /// By one thread.
  __device__ void fetch(const TensorMap& x, int number, int stage WALK_PARAMETERS) const {
    if (number >= kTiles) return;
    const Tile tile = tile_of(number WALK_ARGUMENTS);
    const CachePolicy policy = POLICY_OF(kImage, IMAGE_ALONE);
    barrier_expect(full(stage), kPatchBytes + kAddendBoxes * kAddendBoxBytes);
#if FLAT
#pragma unroll
    for (int i = 0; i < kPanels; ++i)
      fetch_box(patch(stage) + i * kPanelBytes, x, full(stage), i * kRowBytes, tile.line, 0, 0, policy);
#if ADDEND_COMES
    const CachePolicy addend_policy = POLICY_OF(kAddend0, ADDENDS_ALONE);
#pragma unroll 1
    for (int i = 0; i < kAddendBoxes; ++i)
      fetch_box(addend(stage, i), *addends, full(stage), column + i * kSlab, tile.line, 0, addend_policy);
#endif
#else
    fetch_box(patch(stage), x, full(stage), 0, -kBegin2, tile.line - kBegin1, tile.image, policy);
#endif
  }
};

__device__ inline void multiply_tile(Accumulator (&sums)[kParts][kTileN / 2], u32 patch, u32 weights) {
  products_begin();
#pragma unroll
  for (int tap = 0; tap < kTaps * kPanels; ++tap) {
    const u32 seen =
        patch + (kPanels > 1 ? tap * kPanelBytes : (tap / kKernel2 * kSpan + tap % kKernel2) * kRowBytes);
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

/// Of each part, slab and half of a thread's rows.
struct Operands {
  EpilogueOperands<kRun> of[kParts][kSlabs][2];
};
__device__ inline int place_of(int part, int half) {
  return part * 64 + threadIdx.x / 32 % 4 * 16 + half * 8 + threadIdx.x % 32 / 4;
}
/// The same on the way from one tile to the next, where bytes would each take a register.
struct KeptOperands {
  u32 words[(sizeof(Operands) + 3) / 4];

  __device__ void take(const Operands& from) { memcpy(words, &from, sizeof(Operands)); }
  __device__ void give(Operands& to) const { memcpy(&to, words, sizeof(Operands)); }
};

/// `column`: the thread's first one.
__device__ inline void fetch_operands(Operands& to, int number, int column WALK_PARAMETERS EPILOGUE_PARAMETERS) {
  if (number >= kTiles) return;
  const Tile tile = tile_of(number WALK_ARGUMENTS);
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      bool exists;
      const Index row = pixel_of(tile, place_of(part, half), exists) * Index(kN);
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab) {
        [[maybe_unused]] const Index element = row + Index(column + slab * kSlab);
#define FETCH_RUN(i, T)                                                             \
  fetch_run<Epilogue##i##At, kRun>(e##i, element, to.of[part][slab][half].o##i, \
                                   POLICY_OF(kAddend##i, ADDENDS_ALONE));
        EPILOGUE_EACH(FETCH_RUN)
      }
    }
}
#if ADDEND_COMES
/// From a part that is there, of the group's slabs from that one on.
__device__ inline void take_operands(Operands& to, const Patches& from, int stage, int first_slab) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = place_of(part, half);
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab) {
        // As TMA swizzles pieces of 16 bytes.
        const uint4 piece = load_shared_piece(from.addend(stage, first_slab + slab) + row * kSlab +
                                              (threadIdx.x % 4 ^ row / 2 % 4) * 16);
        static_assert(sizeof(to.of[part][slab][half].o0.v) == 16);
        memcpy(to.of[part][slab][half].o0.v, &piece, 16);
      }
    }
}
#endif
__device__ inline void store_tile(const Accumulator (&sums)[kParts][kTileN / 2], const Operands& operands, Y* y,
                                  Factors& factors, const Tile& tile, int column) {
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    if constexpr (!Factors::kKept) factors.load(slab);
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float v[kRun];
#pragma unroll
        for (int j = 0; j < kRun / 2; ++j) {
          const int s = (slab * kSlab + j * 8) / 2 + half * 2;
          v[2 * j] = fmaf(number_of(sums[part][s]), factors.of[j].x, factors.of[j].y);
          v[2 * j + 1] = fmaf(number_of(sums[part][s + 1]), factors.of[j].z, factors.of[j].w);
        }
        apply_epilogue<kRun>(v, operands.of[part][slab][half]);
        bool exists;
        const Index pixel = pixel_of(tile, place_of(part, half), exists);
        if (exists) store_run<kRun>(y, pixel * Index(kN) + Index(column + slab * kSlab), v);
      }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    kernel(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w ADDEND_PARAMETERS, Y* __restrict__ y,
           const float4* __restrict__ factors EPILOGUE_PARAMETERS WALK_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  release_next();
  const u32 weights = (shared_address(raw) + 1023) / 1024 * 1024, patches = weights + kWeightsPitch;
  const u32 barriers = patches + kSets * kStages * kPatchPitch, loaded = barriers + kSets * kStages * 16;
  const int columns = blockIdx.x % kTilesN * kOwnN;  // The block's first one.
  if (threadIdx.x == 0)
    begin_block<kSets * kStages, kAcross * 4, kTaps * kPanels, kWeightBytes>(x, w, weights, barriers, columns);
  const int group = threadIdx.x / 128, set = group / kAcross, step = gridDim.x * kSets;
  const int own_columns = group % kAcross * kTileN, column = columns + own_columns + threadIdx.x % 4 * kRun;
  Factors own_factors(factors, column);
  __syncthreads();
  wait_previous();
  const bool speaks = threadIdx.x % (128 * kAcross) == 0;
  const Patches own{patches + set * (kStages * kPatchPitch), barriers + set * (kStages * 16) ADDEND_ARGUMENTS};
  // Neighbouring blocks have neighbouring tiles.
  const int first = set * gridDim.x + blockIdx.x;
  if (speaks)
    for (int i = 0; i + 1 < kStages; ++i) own.fetch(x, first + i * step, i WALK_ARGUMENTS);
  KeptOperands kept = {};
  if constexpr (kFetchesAhead) {
    Operands fetched;
    fetch_operands(fetched, first, column WALK_ARGUMENTS EPILOGUE_ARGUMENTS);
    kept.take(fetched);
  }
  barrier_wait(loaded, 0);
  for (int number = first, stage = 0, phase = 0; number < kTiles; number += step) {
    if (speaks) {
      // The last tile's part is read by then.
      const int before = stage == 0 ? kStages - 1 : stage - 1;
      if (number > first) barrier_wait(own.empty(before), stage == 0 ? phase ^ 1 : phase);
      own.fetch(x, number + (kStages - 1) * step, before WALK_ARGUMENTS);
    }
    __syncwarp();
    Operands operands;
    if constexpr (!kFetchesAhead && kAddendBoxes == 0)
      fetch_operands(operands, number, column WALK_ARGUMENTS EPILOGUE_ARGUMENTS);
    barrier_wait(own.full(stage), phase);
    Accumulator sums[kParts][kTileN / 2];
    multiply_tile(sums, own.patch(stage), weights + own_columns * kRowBytes);
#if ADDEND_COMES
    take_operands(operands, own, stage, own_columns / kSlab);
    __syncwarp();
#endif
    if (threadIdx.x % 32 == 0) barrier_arrive(own.empty(stage));
    if (++stage == kStages) stage = 0, phase ^= 1;
    if constexpr (kFetchesAhead) {
      kept.give(operands);
      Operands fetched;
      fetch_operands(fetched, number + step, column WALK_ARGUMENTS EPILOGUE_ARGUMENTS);
      kept.take(fetched);
    }
    store_tile(sums, operands, y, own_factors, tile_of(number WALK_ARGUMENTS), column);
  }
}
