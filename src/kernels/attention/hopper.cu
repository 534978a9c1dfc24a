// Attention of 16-bit floats on Hopper: one thread has the copy engine fetch keys and values, kGroups warp groups of 64
// queries each multiply them, with a running maximum and sum; scores and weights never leave registers.

constexpr int kRows = kGroups * 64, kConsumers = kGroups * 128;
constexpr int kSizeBoxes = (kSize + 63) / 64, kValueBoxes = (kValueSize + 63) / 64;
constexpr int kSizeSteps = (kSize + 15) / 16, kValueColumns = (kValueSize + 7) / 8 * 8;
constexpr int kQueryBytes = kRows * 128 * kSizeBoxes, kKeyBytes = kKeys * 128 * kSizeBoxes;
constexpr int kValueBytes = kKeys * 128 * kValueBoxes;
// Results pass through the memory of the queries.
constexpr int kResultBytes = kRows * 128 * kValueBoxes;
constexpr int kFrontBytes = kQueryBytes > kResultBytes ? kQueryBytes : kResultBytes;
constexpr float kLog2E = 1.4426950408889634f, kUnit = float(kScale) * kLog2E;
// Scores need nothing but a factor.
constexpr bool kPlain = ATTENTION_MASK == 0 && float(kSoftcap) == 0 && kScoreSteps == 0 && kUnit > 0;

struct Place {
  int row, head, batch, tiles;
};

/// Barriers: of the queries, then full and empty of keys and of values by stage.
struct Barriers {
  u32 base;
  __device__ u32 queries() const { return base; }
  __device__ u32 keys(int stage) const { return base + 16 + stage * 32; }
  __device__ u32 values(int stage) const { return base + 32 + stage * 32; }
};

__device__ inline void produce(const TensorMap& q, const TensorMap& k, const TensorMap& v, u32 queries, u32 ring,
                               Barriers barriers, const Place& at) {
  const int shared = at.head / (kHeads / kKvHeads);
  barrier_expect(barriers.queries(), kQueryBytes);
  for (int c = 0; c < kSizeBoxes; ++c)
    fetch_box(queries + c * kRows * 128, q, barriers.queries(), c * 64, at.row, at.head, at.batch);
  int stage = 0;
  u32 phase = 1;
  for (int t = 0; t < at.tiles; ++t) {
    const u32 keys = ring + stage * (kKeyBytes + kValueBytes), values = keys + kKeyBytes;
    barrier_wait(barriers.keys(stage) + 8, phase);
    barrier_expect(barriers.keys(stage), kKeyBytes);
    for (int c = 0; c < kSizeBoxes; ++c)
      fetch_box(keys + c * kKeys * 128, k, barriers.keys(stage), c * 64, t * kKeys, shared, at.batch);
    barrier_wait(barriers.values(stage) + 8, phase);
    barrier_expect(barriers.values(stage), kValueBytes);
    for (int c = 0; c < kValueBoxes; ++c)
      fetch_box(values + c * kKeys * 128, v, barriers.values(stage), c * 64, t * kKeys, shared, at.batch);
    if (++stage == kStages) stage = 0, phase ^= 1;
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
        value = value * kLog2E + staged[key];
        scores[4 * n + i] = kCausal && key > row + i / 2 * 8 + kDiagonal ? -float(kInfinity) : value;
      }
  } else if constexpr (kPlain) {
    if (first + kKeys > kKvLength || (kCausal && first + kKeys - 1 > row - row % 64 + kDiagonal)) {
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = first + n * 8 + 2 * t + i % 2;
          if (key >= kKvLength || (kCausal && key > row + i / 2 * 8 + kDiagonal)) scores[4 * n + i] = -float(kInfinity);
        }
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

__device__ inline u32 pack_pair(float low, float high) {
  return u32(narrow<X>(low).bits) | u32(narrow<X>(high).bits) << 16;
}

struct Running {
  float top[2], sum[2];
};

/// Exponents to weights; what was summed before is scaled to the new maximum.
__device__ inline void to_weights(float (&scores)[kKeys / 2], Running& running, float (&result)[kValueColumns / 2],
                                  bool is_first) {
  constexpr float kFactor = kPlain ? kUnit : 1.0f;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = running.top[r];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) most = fmaxf(most, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    const float base = most == -float(kInfinity) ? 0.0f : most * kFactor;
    if (!is_first) {
      const float factor = power_of_2(running.top[r] * kFactor - base);
      running.sum[r] *= factor;
#pragma unroll
      for (int n = 0; n < kValueColumns / 8; ++n) {
        result[4 * n + 2 * r] *= factor;
        result[4 * n + 2 * r + 1] *= factor;
      }
    }
    running.top[r] = most;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& score = scores[4 * n + 2 * r + i];
        score = power_of_2(kPlain ? fmaf(score, kFactor, -base) : score - base);
        sum += score;
      }
    running.sum[r] += sum;
  }
}

/// Results to memory in rows, through the warp group's part of the queries' memory.
__device__ inline void store_results(const float (&result)[kValueColumns / 2], const Running& running, u32 front, X* out,
                                     const Place& at) {
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32, in_group = threadIdx.x % 128;
  barrier_of(1 + group, 128);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = running.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const float inverse = inverse_sum(sum);
    const int row = threadIdx.x / 32 * 16 + lane / 4 + 8 * r;
#pragma unroll
    for (int n = 0; n < kValueColumns / 8; ++n) {
      const u32 to = front + n / 8 * (kRows * 128) + row * 128 + (n % 8 ^ row % 8) * 16 + lane % 4 * 4;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(to),
                   "r"(pack_pair(result[4 * n + 2 * r] * inverse, result[4 * n + 2 * r + 1] * inverse)) : "memory");
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
    *reinterpret_cast<Pack<u32, 4>*>(out + (at.row + row) * Index(kOutPosition) + n * 8) = pack;
  }
}

__device__ inline void consume(u32 front, u32 ring, Barriers barriers, const float* staged, const Mask* mask, X* out,
                               const Place& at) {
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int row = at.row + threadIdx.x / 32 * 16 + lane / 4;
  float result[kValueColumns / 2] = {};
  Running running = {{-float(kInfinity), -float(kInfinity)}, {0, 0}};
  barrier_wait(barriers.queries(), 0);
  int stage = 0;
  u32 phase = 0;
  for (int t = 0; t < at.tiles; ++t) {
    const u32 keys = ring + stage * (kKeyBytes + kValueBytes), values = keys + kKeyBytes;
    float scores[kKeys / 2];
    barrier_wait(barriers.keys(stage), phase);
    products_begin();
#pragma unroll
    for (int s = 0; s < kSizeSteps; ++s)
      score_product(scores, tile_descriptor(front + s / 4 * (kRows * 128) + group * 8192 + s % 4 * 32, 0),
                    tile_descriptor(keys + s / 4 * (kKeys * 128) + s % 4 * 32, 0), s > 0);
    products_commit();
    products_wait<0>();
    if (lane == 0) barrier_arrive(barriers.keys(stage) + 8);
    to_exponents(scores, mask, staged, row, t * kKeys);
    to_weights(scores, running, result, t == 0);
    u32 weights[kKeys / 16][4];
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i) weights[s][i] = pack_pair(scores[8 * s + 2 * i], scores[8 * s + 2 * i + 1]);
    barrier_wait(barriers.values(stage), phase);
    products_begin();
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s)
      value_product(result, weights[s], tile_descriptor(values + s * 2048, kKeys * 128), 1);
    products_commit();
    products_wait<0>();
    if (lane == 0) barrier_arrive(barriers.values(stage) + 8);
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
  store_results(result, running, front, out, at);
}

extern "C" __global__ void __launch_bounds__(kConsumers + kFetchers, kBlocksEach)
    kernel(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v,
           const Mask* __restrict__ mask, X* __restrict__ out) {
  extern __shared__ unsigned char raw[];
  const u32 front = (shared_address(raw) + 1023) / 1024 * 1024, ring = front + kFrontBytes;
  const Barriers barriers{ring + kStages * (kKeyBytes + kValueBytes)};
  float* staged = reinterpret_cast<float*>(raw + (barriers.base - shared_address(raw)) + 16 + kStages * 32);
  if (threadIdx.x == 0) {
    barrier_create(barriers.queries(), 1);
    for (int i = 0; i < kStages; ++i) {
      barrier_create(barriers.keys(i), 1);
      barrier_create(barriers.keys(i) + 8, kGroups * 4);
      barrier_create(barriers.values(i), 1);
      barrier_create(barriers.values(i) + 8, kGroups * 4);
    }
    barriers_visible();
  }
  __syncthreads();
  begin_kernel();
  Place at{int(blockIdx.x) * kRows, int(blockIdx.y), int(blockIdx.z), 0};
  at.tiles = (last_key(at.row + kRows - 1) + kKeys - 1) / kKeys;
  if (threadIdx.x >= kConsumers) {
    if constexpr (kMovesRegisters) leave_registers<kFetchingRegisters>();
    if (threadIdx.x == kConsumers) produce(q, k, v, front, ring, barriers, at);
  } else {
    if constexpr (kMovesRegisters) take_registers<kComputingRegisters>();
    const Mask* from = mask + at.batch * Index(kMaskBatch) + at.head * Index(kMaskHead);
    if constexpr (kStagedMask) {
      stage_mask(staged, from, at.tiles);
      barrier_of(5, kConsumers);
    }
    consume(front, ring, barriers, staged, from, out + at.batch * Index(kOutBatch) + at.head * Index(kOutHead), at);
  }
}
