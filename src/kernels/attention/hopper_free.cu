// Warp groups that take keys each in its own time (attention/hopper.cu): one product or softmax follows the other.

__device__ inline void consume(const TensorMap&, u32 front, u32 ring, Barriers barriers, Progress& progress,
                               const float* staged, const Mask* mask, Y* out, const Place& at, bool) {
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int row = at.row + threadIdx.x / 32 * 16 + lane / 4;
  barrier_wait(kWhole ? barriers.group_queries(group) : barriers.queries(), progress.queries);
  const bool is_behind = kWhole && at.row + group * 64 >= kQLength;
  const int tiles = is_behind ? 0 : kWhole ? tiles_of(at.row + group * 64 + 63) : at.tiles;
  if (kWhole && tiles == 0) widen_all_values(ring, barriers, at.tiles, progress.queries);
  if (is_behind) return;
  float result[kValueColumns / 2] = {};
  Running running = {{-float(kInfinity), -float(kInfinity)}, {0, 0}};
  Stage stage{0, progress.queries};
  for (int t = 0; t < tiles; ++t) {
    const u32 keys = ring + stage.number * kStageBytes, values = keys + kKeyBytes;
    float scores[kKeys / 2], factor[2];
    SCORE_SUMS(sums, scores);
    barrier_wait(barriers.keys(stage.number), stage.phase);
    products_begin();
    multiply_keys(sums, front + group * 8192, keys);
    if (kWhole && t == 0) widen_all_values(ring, barriers, at.tiles, progress.queries);
    if (!kWhole) widen_values_of(keys, barriers.values(stage.number), stage.phase);
    products_wait<0>();
    if (!kWhole && kTakesTurns && lane == 0) barrier_arrive(barriers.keys(stage.number) + 8);
    TAKE_SCORES(scores, sums);
    to_exponents(scores, mask, staged, row, t * kKeys);
    to_weights(scores, running, factor, row);
    if (t > 0) shrink(result, factor);
    u32 weights[kKeys / 16][4];
    pack_weights(weights, scores);
    barrier_wait(barriers.values(stage.number), stage.phase);
    products_begin();
    multiply_values(result, weights, values);
    products_wait<0>();
    if (!kWhole && kTakesTurns && lane == 0) barrier_arrive(barriers.values(stage.number) + 8);
    stage.advance();
  }
  store_results(result, running, front, out, at);
}
