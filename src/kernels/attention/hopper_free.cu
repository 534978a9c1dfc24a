// Warp groups that take keys each in its own time (attention/hopper.cu): one product or softmax follows the other.

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

__device__ inline void begin_turns(int) {}

__device__ inline void consume(const TensorMap&, u32 front, u32 ring, Barriers barriers, Progress&, const float* staged,
                               const Mask* mask, X* out, const Place& at, bool) {
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int row = at.row + threadIdx.x / 32 * 16 + lane / 4;
  float result[kValueColumns / 2] = {};
  Running running = {{-float(kInfinity), -float(kInfinity)}, {0, 0}};
  barrier_wait(barriers.queries(), 0);
  Stage stage;
  for (int t = 0; t < at.tiles; ++t) {
    const u32 keys = ring + stage.number * (kKeyBytes + kValueBytes), values = keys + kKeyBytes;
    float scores[kKeys / 2];
    barrier_wait(barriers.keys(stage.number), stage.phase);
    products_begin();
#pragma unroll
    for (int s = 0; s < kSizeSteps; ++s)
      score_product(scores, tile_descriptor(front + s / 4 * (kRows * 128) + group * 8192 + s % 4 * 32, 0),
                    tile_descriptor(keys + s / 4 * (kKeys * 128) + s % 4 * 32, 0), s > 0);
    products_commit();
    products_wait<0>();
    if (lane == 0) barrier_arrive(barriers.keys(stage.number) + 8);
    to_exponents(scores, mask, staged, row, t * kKeys);
    to_weights(scores, running, result, t == 0);
    u32 weights[kKeys / 16][4];
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i) weights[s][i] = pack_pair(scores[8 * s + 2 * i], scores[8 * s + 2 * i + 1]);
    barrier_wait(barriers.values(stage.number), stage.phase);
    products_begin();
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s)
      value_product(result, weights[s], tile_descriptor(values + s * 2048, kKeys * 128), 1);
    products_commit();
    products_wait<0>();
    if (lane == 0) barrier_arrive(barriers.values(stage.number) + 8);
    stage.advance();
  }
  store_results(result, running, front, out, at);
}
