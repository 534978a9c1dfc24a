// Parts of attention on Hopper (attention/hopper.cu): tiles and their barriers, the thread that fetches, masks, and how
// results leave. Where queries, keys and values are bytes (BYTE_OPERANDS), the first two are multiplied as such; values
// become halves in shared memory (attention/hopper_bytes.cu), and weights are halves.

enum : int { kRows = kGroups * 64, kConsumers = kGroups * 128 };
// Rows of boxes of queries and keys, and of values as they are fetched.
enum : int { kElementBytes = BYTE_OPERANDS ? 1 : 2 };
enum : int { kRowBytes = BYTE_OPERANDS && kSize <= 64 ? 64 : 128, kFetchedRow = BYTE_OPERANDS && kValueSize <= 64 ? 64 : 128 };
enum : int { kBoxColumns = kRowBytes / kElementBytes, kFetchedColumns = kFetchedRow / kElementBytes };
enum : int { kSizeBoxes = (kSize + kBoxColumns - 1) / kBoxColumns, kValueBoxes = (kValueSize + 63) / 64 };
enum : int { kFetchedBoxes = (kValueSize + kFetchedColumns - 1) / kFetchedColumns };
enum : int { kSizeSteps = (kSize * kElementBytes + 31) / 32, kValueColumns = (kValueSize + 7) / 8 * 8 };
// Stages are filled again.
enum : bool { kTakesTurns = kKnownTiles == 0 || kStays };
// The queries of each group begin at a multiple of 8192, where its results pass.
enum : int { kQueryBytes = kRows * 128 * kSizeBoxes, kKeyBytes = kKeys * kRowBytes * kSizeBoxes };
enum : int { kValueBytes = kKeys * 128 * kValueBoxes, kFetchedBytes = kKeys * kFetchedRow * kFetchedBoxes };
// A stage: keys, values as products take them and, where those are others, as they come.
enum : int { kFetchedAt = kKeyBytes + (BYTE_OPERANDS ? kValueBytes : 0), kStageBytes = kFetchedAt + kFetchedBytes };
// Results pass through the memory of the queries.
enum : int { kResultBytes = kRows * 128 * kValueBoxes };
enum : int { kFrontBytes = kQueryBytes > kResultBytes ? kQueryBytes : kResultBytes };
#define kLog2E 1.4426950408889634f
#define kUnit (float(kScale) * kLog2E)
// Scores need nothing but a factor (and masks).
enum : bool { kScaled = float(kSoftcap) == 0 && kScoreSteps == 0, kPlain = ATTENTION_MASK == 0 && kScaled && kUnit > 0 };

struct Place {
  int row, head, batch, tiles;
};

/// Of keys that queries up to this one see.
__device__ inline int tiles_of(int query) {
  if constexpr (kKnownTiles > 0 && !kCausal) return kKnownTiles;
  return (last_key(query < kQLength ? query : kQLength - 1) + kKeys - 1) / kKeys;
}

__device__ inline Place place_of(int block, int head, int batch) {
  // Where blocks wait for others, causal ones of many keys go first.
  const int row = (kLongFirst ? kRowBlocks - 1 - block : block) * kRows;
  return {row, head, batch, tiles_of(row + kRows - 1)};
}

#define kPlaces (kRowBlocks * kHeads * kBatches)
/// Where blocks stay: queries of a head behind each other unless kLongFirst.
__device__ inline Place place_number(int i) {
  const int all_heads = kHeads * kBatches;
  const int block = kLongFirst ? i / all_heads : i % kRowBlocks, both = kLongFirst ? i % all_heads : i / kRowBlocks;
  return place_of(block, both % kHeads, both / kHeads);
}

/// Calls f(place, whether it is the last) for this block's places: one place of a grid that has all of them, or
/// (kStays) every so many of them.
template <class F>
__device__ inline void each_place(F&& f) {
  if constexpr (kStays) {
    for (int i = blockIdx.x; i < kPlaces; i += gridDim.x) f(place_number(i), i + int(gridDim.x) >= kPlaces);
  } else {
    f(place_of(blockIdx.x, blockIdx.y, blockIdx.z), true);
  }
}

/// Barriers: of the queries, then full and empty of keys and of values by stage, then of each group's queries.
struct Barriers {
  u32 base;
  __device__ u32 queries() const { return base; }
  __device__ u32 keys(int stage) const { return base + 16 + stage * 32; }
  __device__ u32 values(int stage) const { return base + 32 + stage * 32; }
  __device__ u32 group_queries(int group) const { return base + 16 + kStages * 32 + group * 8; }
};

enum : int { kBarrierBytes = 16 + kStages * 32 + kGroups * 8 };

/// A place in the rings of keys and values.
struct Stage {
  int number = 0;
  u32 phase = 0;
  __device__ void advance() {
    if (++number == kStages) number = 0, phase ^= 1;
  }
};
/// Progress of warp groups in them.
struct Progress {
  Stage keys, values;
  u32 queries = 0;
};

__device__ inline void fetch_queries(const TensorMap& q, u32 queries, Barriers barriers, const Place& at) {
  constexpr int kBoxRows = BYTE_OPERANDS ? 64 : kRows;
  barrier_expect(barriers.queries(), kRows * kRowBytes * kSizeBoxes);
  for (int c = 0; c < kSizeBoxes; ++c)
    for (int row = 0; row < kRows; row += kBoxRows)
      fetch_box(queries + (c * kRows + row) * 128, q, barriers.queries(), c * kBoxColumns, at.row + row, at.head, at.batch);
}
/// Those of one group.
__device__ inline void fetch_group_queries(const TensorMap& q, u32 queries, Barriers barriers, int group, const Place& at) {
  const u32 barrier = barriers.group_queries(group);
  barrier_expect(barrier, 64 * kRowBytes * kSizeBoxes);
  for (int c = 0; c < kSizeBoxes; ++c)
    fetch_box(queries + c * kRows * 128 + group * 8192, q, barrier, c * kBoxColumns, at.row + group * 64, at.head, at.batch);
}

/// Key and value number `tile` of a place to a stage, each behind its barrier.
__device__ inline void fetch_keys(const TensorMap& k, u32 stage, u32 barrier, int tile, int head, int batch) {
  barrier_expect(barrier, kKeyBytes);
  for (int c = 0; c < kSizeBoxes; ++c)
    fetch_box(stage + c * kKeys * kRowBytes, k, barrier, c * kBoxColumns, tile * kKeys, head, batch);
}
__device__ inline void fetch_values(const TensorMap& v, u32 stage, u32 barrier, int tile, int head, int batch) {
  barrier_expect(barrier, kFetchedBytes);
  for (int c = 0; c < kFetchedBoxes; ++c)
    fetch_box(stage + kFetchedAt + c * kKeys * kFetchedRow, v, barrier, c * kFetchedColumns, tile * kKeys, head, batch);
}

__device__ inline void fetch_keys_and_values(const TensorMap& k, const TensorMap& v, u32 ring, Barriers barriers, Stage& to,
                                             const Place& at) {
  const int shared = at.head / (kHeads / kKvHeads);
  for (int t = 0; t < at.tiles; ++t) {
    const u32 stage = ring + to.number * kStageBytes;
    if (kTakesTurns) barrier_wait(barriers.keys(to.number) + 8, to.phase);
    fetch_keys(k, stage, barriers.keys(to.number), t, shared, at.batch);
    if (kTakesTurns) barrier_wait(barriers.values(to.number) + 8, to.phase);
    fetch_values(v, stage, barriers.values(to.number), t, shared, at.batch);
    to.advance();
  }
}

/// Masks that are one number a key, as exponents, with nothing behind the last key.
__device__ inline void stage_mask(float* to, const Mask* mask, int tiles) {
  for (int i = threadIdx.x; i < tiles * kKeys; i += kConsumers) {
    float value = -float(kInfinity);
#if ATTENTION_MASK == 1
    if (i < kKvLength && widen(mask[i * Index(kMaskKey)])) value = 0;
#elif ATTENTION_MASK == 2
    if (i < kKvLength) value = mask_in_log_2(float(widen(mask[i * Index(kMaskKey)])));
#endif
    to[i] = value;
  }
}

/// Products of queries and keys to exponents (kPlain: all but their factor).
__device__ inline void to_exponents(float (&scores)[kKeys / 2], const Mask* mask, const float* staged, int row, int first) {
  const int t = threadIdx.x % 4;
  if constexpr (kStagedMask) {
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float value = scores[4 * n + i] * float(kScale);
        if (kSoftcap > 0) value = float(kSoftcap) * tanhf(value / float(kSoftcap));
        value = score_steps(value);
        const int key = first + n * 8 + 2 * t + i % 2;
        value = kScaled ? fmaf(scores[4 * n + i], kUnit, staged[key]) : value * kLog2E + staged[key];
        scores[4 * n + i] = kCausal && key > row + i / 2 * 8 + kDiagonal ? -float(kInfinity) : value;
      }
  } else if constexpr (kPlain) {
    if (first + kKeys > kKvLength || (kCausal && first + kKeys - 1 > row - row % 64 + kDiagonal)) {
      const int here = first + 2 * t, seen[2] = {last_key(row) - here, last_key(row + 8) - here};
#pragma unroll
      for (int n = kCausal ? 0 : kCertainKeys / 8; n < kKeys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (n * 8 + i % 2 >= seen[i / 2]) scores[4 * n + i] = -float(kInfinity);
    }
  } else {
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Rows behind the last query read the mask of the last one.
        const int query = row + i / 2 * 8 < kQLength ? row + i / 2 * 8 : kQLength - 1;
        scores[4 * n + i] = to_exponent(scores[4 * n + i], mask, query, first + n * 8 + 2 * t + i % 2);
      }
  }
}

struct Running {
  float top[2], sum[2];
};

/// inverse_sum for results of 16 bits.
__device__ inline float rough_inverse_sum(float sum) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(sum));
  return sum > 0 || sum != sum ? inverse : kMaskedRowsZero ? 0.0f : float(kNan);
}

/// Eight results.
__device__ inline void store_piece(Y* to, const Pack<u32, 4>& pack) {
#if QUANTIZES
  float v[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = quantized(widen(X{u16(pack.v[i / 2] >> (i % 2 * 16))}));
  Pack<u32, 2> bytes;
#pragma unroll
  for (int i = 0; i < 2; ++i) bytes.v[i] = byte_word(Y(), v + i * 4);
  *reinterpret_cast<Pack<u32, 2>*>(to) = bytes;
#else
  *reinterpret_cast<Pack<u32, 4>*>(to) = pack;
#endif
}

/// Results to memory in rows, through the warp group's part of the queries' memory.
__device__ inline void store_results(const float (&result)[kValueColumns / 2], const Running& running, u32 front, Y* out,
                                     const Place& at) {
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32, in_group = threadIdx.x % 128;
  barrier_of(1 + group, 128);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = running.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const float inverse = rough_inverse_sum(sum) * float(kValueScale);
    const int row = threadIdx.x / 32 * 16 + lane / 4 + 8 * r;
#pragma unroll
    for (int n = 0; n < kValueColumns / 8; ++n) {
      const u32 to = front + n / 8 * (kRows * 128) + row * 128 + (n % 8 ^ row % 8) * 16 + lane % 4 * 4;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(to),
                   "r"(pair_of(X(), result[4 * n + 2 * r] * inverse, result[4 * n + 2 * r + 1] * inverse)) : "memory");
    }
  }
  barrier_of(1 + group, 128);
  constexpr int kPieces = kValueColumns / 8;
  for (int i = in_group; i < 64 * kPieces; i += 128) {
    const int row = group * 64 + i / kPieces, n = i % kPieces;
    if (at.row + row >= kQLength) break;
    Pack<u32, 4> pack;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(pack.v[0]), "=r"(pack.v[1]), "=r"(pack.v[2]), "=r"(pack.v[3])
                 : "r"(front + n / 8 * (kRows * 128) + row * 128 + (n % 8 ^ row % 8) * 16) : "memory");
    store_piece(out + (at.row + row) * Index(kOutPosition) + n * 8, pack);
  }
}
