// Recurrences on tensor cores: who has which units, weights, products.

enum : int { kRowTiles = (kGates + 1) / 2 };  // 16 rows: one gate of 8 units above another one.
// Products of a warp that wait for each other are few.
enum : int { kChains = kRowTiles * kTiles >= 4 ? 1 : 4 / (kRowTiles * kTiles) };
enum : int { kElements = kTiles * 4 * kEach };
#define kTeams ((kBatch + kElements - 1) / kElements)  // Of a direction.
static_assert(kEach == 2 || kTiles == 1, "few elements are one tile");
enum : int { kStateBytes = kStateGroups * kTiles * 128 };  // 8 units each of 8 elements, 16 bytes an element.
enum : int { kChunkBytes = kRowTiles * 1024 };

/// A thread's part: the gates of `unit` for elements at columns quad * 2 and quad * 2 + 1 of each tile; it sends and
/// stores units quad * 2 and quad * 2 + 1 of the warp's for the element in `slot` of each tile.
struct Place {
  int lane, row, quad, group, part, rank, direction, batch0, elements, own, unit, slot;
  __device__ Place() {
    const int team = blockIdx.x / kTeam, warp = threadIdx.x / 32;
    lane = threadIdx.x % 32, row = lane / 4, quad = lane % 4;
    group = warp % kGroups, part = warp / kGroups, rank = blockIdx.x % kTeam;
    direction = team / kTeams, batch0 = team % kTeams * kElements, elements = min(kElements, kBatch - batch0);
    own = rank * kGroups + group, unit = own * 8 + row, slot = kEach == 1 ? row / 2 : row;
  }
  __device__ bool sends(int tile) const { return tile * 8 + slot < elements && (kEach == 2 || row % 2 == 0); }
  __device__ int cell(int tile, int e) const { return tile * 8 + quad * kEach + e; }
  /// Where the states of a group of 8 units lie for an element: so that reads meet no bank twice.
  __device__ static u32 state(int group, int element) {
    return (group * kTiles + element / 8) * 128 + (element % 8 ^ group % 4 * 2) * 16;
  }
  /// Of the first chunk of the warp's k, for the lane's column of a tile; lanes without an element follow others.
  __device__ u32 read(int tile) const { return state(part * kOwnChunks * 4 + quad, min(tile * 8 + slot, elements - 1)); }
  __device__ u32 sent(int tile) const { return state(own, tile * 8 + slot) + quad * 4; }
};

/// A warp's rows for 32 of k. A thread has 8 of k, side by side in memory, of rows lane / 4 and lane / 4 + 8 of each tile.
struct Chunk {
  u32 a[kRowTiles][2][4];
};
struct Sums {
  float v[kRowTiles][kTiles][kChains][4];
};

__device__ inline uint4 load_row(const X* weights, int direction, int gate, int unit, int k) {
  uint4 v = {0, 0, 0, 0};
  if (gate >= kGates || unit >= kHidden || k >= kHidden) return v;
  const X* from = weights + (Index(direction * kGates + gate) * kHidden + unit) * kHidden + k;
  if constexpr (kHidden % 8 == 0) {
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  } else {
    u32 pairs[4] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (k + i < kHidden) pairs[i / 2] |= u32(from[i].bits) << i % 2 * 16;
    v = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
  return v;
}
__device__ inline void load_chunk(Chunk& to, const X* weights, int direction, int unit, int k) {
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
    const uint4 upper = load_row(weights, direction, 2 * i, unit, k);
    const uint4 lower = load_row(weights, direction, 2 * i + 1, unit, k);
    to.a[i][0][0] = upper.x, to.a[i][0][1] = lower.x, to.a[i][0][2] = upper.y, to.a[i][0][3] = lower.y;
    to.a[i][1][0] = upper.z, to.a[i][1][1] = lower.z, to.a[i][1][2] = upper.w, to.a[i][1][3] = lower.w;
  }
}
/// A chunk in shared memory, read by the thread that wrote it.
__device__ inline void store_chunk(const Chunk& from, u32 address) {
#pragma unroll
  for (int i = 0; i < kRowTiles * 2; ++i) {
    const u32(&a)[4] = from.a[i / 2][i % 2];
    store_shared_piece(address + i * 512, make_uint4(a[0], a[1], a[2], a[3]));
  }
}
__device__ inline void restore_chunk(Chunk& to, u32 address) {
#pragma unroll
  for (int i = 0; i < kRowTiles * 2; ++i) {
    const uint4 v = load_shared_piece(address + i * 512);
    u32(&a)[4] = to.a[i / 2][i % 2];
    a[0] = v.x, a[1] = v.y, a[2] = v.z, a[3] = v.w;
  }
}

/// Adds the products with 32 of k; 8 of them, side by side, are the thread's, as in its weights.
__device__ inline void multiply_chunk(Sums& sums, const Chunk& weights, const uint4 (&states)[kTiles], int j) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const uint4 h = states[n];
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
      multiply(sums.v[i][n][2 * j % kChains], weights.a[i][0], h.x, h.y);
      multiply(sums.v[i][n][(2 * j + 1) % kChains], weights.a[i][1], h.z, h.w);
    }
  }
}

/// Where warps share k, the first one of a group gets the total of all sums; false for the others.
__device__ inline bool join_sums(Sums& sums, u32 partial, int group, int part) {
#pragma unroll
  for (int i = 0; i < kRowTiles * kTiles; ++i)
#pragma unroll
    for (int chain = 1; chain < kChains; ++chain)
#pragma unroll
      for (int j = 0; j < 4; ++j) sums.v[i / kTiles][i % kTiles][0][j] += sums.v[i / kTiles][i % kTiles][chain][j];
  if constexpr (kSplit == 1) return true;
  const auto at = [&](int from, int i) { return partial + ((from * kGroups + group) * kRowTiles * kTiles + i) * 512; };
  if (part > 0) {
#pragma unroll
    for (int i = 0; i < kRowTiles * kTiles; ++i) {
      const float(&v)[4] = sums.v[i / kTiles][i % kTiles][0];
      store_shared_piece(at(part - 1, i), make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                                                     __float_as_uint(v[3])));
    }
    barrier_arrive_of(1 + group, 32 * kSplit);
    return false;
  }
  barrier_of(1 + group, 32 * kSplit);
#pragma unroll
  for (int other = 0; other < kSplit - 1; ++other)
#pragma unroll
    for (int i = 0; i < kRowTiles * kTiles; ++i) {
      float more[4];
      load_shared(more, at(other, i));
#pragma unroll
      for (int j = 0; j < 4; ++j) sums.v[i / kTiles][i % kTiles][0][j] += more[j];
    }
  return true;
}

/// 8x8 elements, a row of them in four threads: the same with rows and columns exchanged.
__device__ inline u32 transposed(u32 pair) {
  u32 r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(pair));
  return r;
}
