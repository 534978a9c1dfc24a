// Warp groups that multiply in turns (attention/hopper.cu): while one has the tensor cores, the others compute the weights
// of keys whose scores they have. A group's turn is the scores of its next keys and the values of the keys before.
//
// A row's exponents are relative to a base: the greatest score of the tile that set it. Weights are computed before
// anything is known of a tile's maximum; only where a thread's sum of a row's weights is above kMostSum, or there is no base
// yet, the base rises to that maximum, and the tile is computed again. So no weight is above kMostSum, which f16 holds.

#define kMostSum 1024.0f
#define kFactor (kPlain ? kUnit : 1.0f)
enum : int { kFirstTurn = 8 };  // Barriers of turns, one a group.

/// Keeps their readers below the wait.
template <class T, int kCount>
__device__ inline void pin(T (&v)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(v[i])::"memory");
}

/// The first turn is the first group's.
__device__ inline void begin_turns(int group) {
  if (kGroups > 1 && group == kGroups - 1) barrier_arrive_of(kFirstTurn, 256);
}
__device__ inline void begin_turn(int group) {
  if constexpr (kGroups > 1) barrier_of(kFirstTurn + group, 256);
}
__device__ inline void end_turn(int group, bool is_last) {
  if constexpr (kGroups > 1) {
    const int next = group + 1 < kGroups ? group + 1 : 0;
    if (!is_last || next > 0) barrier_arrive_of(kFirstTurn + next, 256);
  }
}

/// Weights of scores, packed; their sums in this thread.
__device__ inline void to_weights(u32 (&weights)[kKeys / 16][4], float (&sum)[2], const float (&scores)[kKeys / 2],
                                  const Running& running) {
  float base[2], part[2][2] = {{0, 0}, {0, 0}};
#pragma unroll
  for (int r = 0; r < 2; ++r) base[r] = running.top[r] == -float(kInfinity) ? 0.0f : running.top[r];
#pragma unroll
  for (int s = 0; s < kKeys / 16; ++s)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float pair[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const float score = scores[8 * s + 2 * i + k];
        const float x = kPlain ? fmaf(score, kFactor, -base[i % 2]) : score - base[i % 2];
        pair[k] = power_of_2(x);
        part[i % 2][k] += pair[k];
      }
      weights[s][i] = pair_of(X(), pair[0], pair[1]);
    }
#pragma unroll
  for (int r = 0; r < 2; ++r) sum[r] = part[r][0] + part[r][1];
}

/// Raises the bases of rows to their greatest scores where these are above; earlier sums shrink.
__device__ inline void raise(const float (&scores)[kKeys / 2], Running& running, float (&result)[kValueColumns / 2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = -float(kInfinity);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) most = fmaxf(most, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)) * kFactor;
    if (!(most > running.top[r])) continue;
    const float factor = power_of_2(running.top[r] - most);
    running.top[r] = most;
    running.sum[r] *= factor;
#pragma unroll
    for (int n = 0; n < kValueColumns / 8; ++n) {
      result[4 * n + 2 * r] *= factor;
      result[4 * n + 2 * r + 1] *= factor;
    }
  }
}

/// The weights of a tile, whose sums are added to the running ones.
__device__ inline void weigh(u32 (&weights)[kKeys / 16][4], const float (&scores)[kKeys / 2], Running& running,
                             float (&result)[kValueColumns / 2]) {
  float sum[2];
  to_weights(weights, sum, scores, running);
  const bool rises = sum[0] > kMostSum || sum[1] > kMostSum || running.top[0] == -float(kInfinity) ||
                     running.top[1] == -float(kInfinity);
  if (__any_sync(0xffffffffu, rises)) {
    raise(scores, running, result);
    to_weights(weights, sum, scores, running);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) running.sum[r] += sum[r];
}

__device__ inline void multiply_keys(float (&scores)[kKeys / 2], u64 queries, u64 keys) {
#pragma unroll
  for (int s = 0; s < kSizeSteps; ++s)
    score_product(scores, queries + ((s / 4 * (kRows * 128) + s % 4 * 32) >> 4),
                  keys + ((s / 4 * (kKeys * 128) + s % 4 * 32) >> 4), s > 0);
  products_commit();
}
__device__ inline void multiply_values(float (&result)[kValueColumns / 2], const u32 (&weights)[kKeys / 16][4], u64 values) {
#pragma unroll
  for (int s = 0; s < kKeys / 16; ++s) value_product(result, weights[s], values + (s * 2048 >> 4), 1);
  products_commit();
}

__device__ inline void consume(const TensorMap& q, u32 front, u32 ring, Barriers barriers, Progress& progress,
                               const float* staged, const Mask* mask, Y* out, const Place& at, bool is_last) {
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int row = at.row + threadIdx.x / 32 * 16 + lane / 4;
  float result[kValueColumns / 2] = {}, scores[kKeys / 2];
  u32 weights[kKeys / 16][4];
  Running running = {{-float(kInfinity), -float(kInfinity)}, {0, 0}};
  const u64 queries = tile_descriptor(front + group * 8192, 0);
  const auto keys_of = [&](int stage) { return tile_descriptor(ring + stage * kStageBytes, 0); };
  const auto values_of = [&](int stage) {
    return tile_descriptor(ring + stage * kStageBytes + kKeyBytes, kKeys * 128);
  };
  if constexpr (!kStays) barrier_wait(barriers.queries(), 0);
  if (at.tiles > 0) {
    Stage &key = progress.keys, &value = progress.values;
    if constexpr (kStays) {
      if (threadIdx.x % 128 == 0) fetch_group_queries(q, front, barriers, group, at);
      barrier_wait(barriers.group_queries(group), progress.queries);
      progress.queries ^= 1;
    }
    barrier_wait(barriers.keys(key.number), key.phase);
    begin_turn(group);
    products_begin();
    multiply_keys(scores, queries, keys_of(key.number));
    end_turn(group, is_last && at.tiles == 1);
    products_wait<0>();
    pin(scores);
    if (kTakesTurns && lane == 0) barrier_arrive(barriers.keys(key.number) + 8);
    key.advance();
    to_exponents(scores, mask, staged, row, 0);
    weigh(weights, scores, running, result);
    for (int t = 1; t < at.tiles; ++t) {
      barrier_wait(barriers.keys(key.number), key.phase);
      barrier_wait(barriers.values(value.number), value.phase);
      begin_turn(group);
      products_begin();
      multiply_keys(scores, queries, keys_of(key.number));
      multiply_values(result, weights, values_of(value.number));
      end_turn(group, is_last && t + 1 == at.tiles);
      products_wait<0>();
      pin(scores);
      pin(result);
      if (kTakesTurns && lane == 0) {
        barrier_arrive(barriers.keys(key.number) + 8);
        barrier_arrive(barriers.values(value.number) + 8);
      }
      key.advance();
      value.advance();
      to_exponents(scores, mask, staged, row, t * kKeys);
      weigh(weights, scores, running, result);
    }
    barrier_wait(barriers.values(value.number), value.phase);
    products_begin();
    multiply_values(result, weights, values_of(value.number));
    products_wait<0>();
    pin(result);
    if (kTakesTurns && lane == 0) barrier_arrive(barriers.values(value.number) + 8);
    value.advance();
  }
  store_results(result, running, front, out, at);
  if constexpr (kStays) {
    // TMA may write there again.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    barrier_of(1 + group, 128);
  }
}
