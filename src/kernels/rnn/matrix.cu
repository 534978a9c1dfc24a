// A whole recurrence in one launch (16-bit floats, sm_90): kTeam blocks share the hidden units of kElements elements of the
// batch in one direction. A warp multiplies the states by its rows of the recurrent weights (kept in registers, as many as
// fit, then in shared memory) on tensor cores: 8 units, all gates of one in the same thread, which makes the cell where the
// sums are. New states go to the other blocks as 16-bit values (Exchange).

enum : int { kPartial = Exchange::kBytes };
enum : int { kStoredWeights = kPartial + (kSplit - 1) * kGroups * kRowTiles * kTiles * 512 };

/// y of two units, of an element whose sequence has so many steps.
__device__ inline void store_pair(X* y, int step, int length, int batch, int direction, int unit, u32 pair) {
  const bool steps = step < length;
  X* to = y + output_index(steps && runs_backward(direction) ? length - 1 - step : step, batch, direction, unit);
  if (!steps) pair = 0;
  if constexpr (kHidden % 2 == 0) {
    *reinterpret_cast<u32*>(to) = pair;
  } else {
    to[0].bits = u16(pair);
    if (unit + 1 < kHidden) to[1].bits = u16(pair >> 16);
  }
}

/// A thread's state of its cells, and the sums of inputs that it prefetches.
struct Cells {
  float input_bias[kGates], state_bias[2 * kRowTiles], peephole[3];
  int length[kTiles][kEach], shown[kTiles];  // Steps; of its sent and stored states, -1 where there is none.
  CellState state[kTiles][kEach];

  __device__ void begin(const Place& p, const X* bias, const X* first_h, const X* first_c, const X* peepholes,
                        const Length* lengths) {
    float state_biases[kGates] = {};
#pragma unroll
    for (int g = 0; g < kGates; ++g) input_bias[g] = 0;
    if (p.unit < kHidden && p.part == 0) load_biases(bias, p.direction, p.unit, input_bias, state_biases);
#pragma unroll
    for (int g = 0; g < 2 * kRowTiles; ++g) state_bias[g] = g < kGates ? state_biases[g < kGates ? g : 0] : 0;
#pragma unroll
    for (int i = 0; i < 3; ++i)
      peephole[i] = kHasPeepholes && p.unit < kHidden ? widen(peepholes[(p.direction * 3 + i) * Index(kHidden) + p.unit]) : 0;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      shown[n] = p.sends(n) ? length_of(lengths, p.batch0 + n * 8 + p.slot) : -1;
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int batch = p.batch0 + p.cell(n, e);
        const bool inside = p.cell(n, e) < p.elements && p.unit < kHidden;
        const Index at = state_index(p.direction, batch, p.unit);
        length[n][e] = inside ? length_of(lengths, batch) : 0;
        state[n][e] = {inside ? optional(first_h, at) : 0.0f, inside ? optional(first_c, at) : 0.0f};
      }
    }
  }
  __device__ void fetch(float (&x)[kTiles][kEach][kGates], const Place& p, const float* products, int step) const {
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        if (step >= length[n][e]) continue;
        const int t = runs_backward(p.direction) ? length[n][e] - 1 - step : step;
        const float* from = products + product_index(t, p.batch0 + p.cell(n, e), p.direction) + p.unit;
#pragma unroll
        for (int g = 0; g < kGates; ++g) x[n][e][g] = from[g * kHidden];
        // Memory takes longer than the steps until then.
        constexpr int kAhead = 6;
        if (!kProductsFar || step + kAhead >= length[n][e]) continue;
        const float* far = products + product_index(runs_backward(p.direction) ? t - kAhead : t + kAhead,
                                                    p.batch0 + p.cell(n, e), p.direction) + p.unit;
#pragma unroll
        for (int g = 0; g < kGates; ++g) asm volatile("prefetch.global.L2 [%0];" ::"l"(far + g * kHidden));
      }
  }
  /// New states of a tile; gives those that the thread sends and stores.
  __device__ u32 advance(const Place& p, int step, int n, const Sums& sums, float (&x)[kEach][kGates]) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      float r[kGates];
#pragma unroll
      for (int g = 0; g < kGates; ++g) {
        r[g] = sums.v[g / 2][n][0][g % 2 * 2 + e];
        x[e][g] += input_bias[g];
      }
      const CellState next = advance_cell(p.direction, x[e], r, peephole, state[n][e]);
      if (step < length[n][e]) state[n][e] = next;
    }
    return transposed(pair_of(X(), state[n][0].h, kEach == 1 ? 0.0f : state[n][kEach - 1].h));
  }
  __device__ void end(const Place& p, X* last_h, X* last_c) const {
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        if (p.part > 0 || p.cell(n, e) >= p.elements || p.unit >= kHidden) continue;
        const Index at = state_index(p.direction, p.batch0 + p.cell(n, e), p.unit);
        if (last_h != nullptr) last_h[at] = narrow<X>(state[n][e].h);
        if (last_c != nullptr) last_c[at] = narrow<X>(state[n][e].c);
      }
  }
};

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    kernel(const float* __restrict__ products, const X* __restrict__ weights, const X* __restrict__ bias,
           const X* __restrict__ first_h, const X* __restrict__ first_c, const X* __restrict__ peepholes,
           const Length* __restrict__ lengths, X* __restrict__ y, X* __restrict__ last_h, X* __restrict__ last_c,
           unsigned char* exchanged) {
  extern __shared__ __align__(128) unsigned char raw[];
  release_next();
  if (!kWeightsConstant) wait_previous();
  const Place p;
  const u32 shared = shared_address(raw);
  const u32 stored = shared + kStoredWeights + threadIdx.x / 32 * (kStored * kChunkBytes) + p.lane * 16;
  const int k = p.part * kOwnChunks * 32 + p.quad * 8;
  Chunk kept[kKept];
#pragma unroll
  for (int j = 0; j < kKept; ++j) load_chunk(kept[j], weights, p.direction, p.unit, k + j * 32);
  for (int j = 0; j < kStored; ++j) {
    Chunk chunk;
    load_chunk(chunk, weights, p.direction, p.unit, k + (kKept + j) * 32);
    store_chunk(chunk, stored + j * kChunkBytes);
  }
  if (kWeightsConstant) wait_previous();
  Exchange exchange;
  exchange.begin(p, raw, first_h, exchanged);
  Cells cells;
  cells.begin(p, bias, first_h, first_c, peepholes, lengths);
  float x[2][kTiles][kEach][kGates];
  if (p.part == 0) {
    cells.fetch(x[0], p, products, 0);
    cells.fetch(x[1], p, products, 1);
  }
  const auto advance = [&](int step, int now) {
    exchange.await(step, now);
    Sums sums;
#pragma unroll
    for (int i = 0; i < kRowTiles * kTiles * kChains * 4; ++i)
      sums.v[i / (kTiles * kChains * 4)][i / (kChains * 4) % kTiles][i / 4 % kChains][i % 4] =
          i / 4 % kChains == 0 ? cells.state_bias[i / (kTiles * kChains * 4) * 2 + i % 4 / 2] : 0;
#pragma unroll
    for (int j = 0; j < kOwnChunks; ++j) {
      Chunk more;
      if (j >= kKept && j < kKept + kStored) restore_chunk(more, stored + (j - kKept) * kChunkBytes);
      if (j >= kKept + kStored) load_chunk(more, weights, p.direction, p.unit, k + j * 32);
      uint4 states[kTiles];
      exchange.pieces(states, now, j);
      multiply_chunk(sums, j < kKept ? kept[j < kKept ? j : 0] : more, states, j);
    }
    if (!join_sums(sums, shared + kPartial + p.lane * 16, p.group, p.part)) return;
    u32 pairs[kTiles];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      pairs[n] = cells.advance(p, step, n, sums, x[now][n]);
      if (step + 1 < kStepCount && cells.shown[n] >= 0) exchange.send(step, now, n, pairs[n]);
    }
    exchange.rest(step, now);
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
      if (y != nullptr && cells.shown[n] >= 0 && p.own * 8 + p.quad * 2 < kHidden)
        store_pair(y, step, cells.shown[n], p.batch0 + n * 8 + p.slot, p.direction, p.own * 8 + p.quad * 2, pairs[n]);
    cells.fetch(x[now], p, products, step + 2);
  };
  for (int step = 0; step < kStepCount; step += 2) {
    advance(step, 0);
    if (step + 1 < kStepCount) advance(step + 1, 1);
  }
  cells.end(p, last_h, last_c);
}
