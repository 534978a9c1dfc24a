// Warp groups whose keys are all in shared memory (attention/hopper_whole.cu): the scores of the next keys are asked for
// before the values are, and these are multiplied while the next weights are computed.

/// Keeps a wait for products below the code that makes a sum of weights: compilers move it above all that is no memory
/// access. This one does not happen, as no sum is below 0.
__device__ inline void keep_above(float sum, u32 address) {
  asm volatile("{\n.reg .pred never;\nsetp.lt.f32 never, %0, 0f00000000;\n@never st.shared.f32 [%1], %0;\n}"
               ::"f"(sum), "r"(address) : "memory");
}

__device__ inline void consume(const TensorMap&, u32 front, u32 ring, Barriers barriers, Progress& progress,
                               const float* staged, const Mask* mask, Y* out, const Place& at, bool) {
  // The same number in all of a warp, which the compiler would not see.
  const int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  const int row = at.row + group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  barrier_wait(barriers.group_queries(group), progress.queries);
  const bool is_behind = at.row + group * 64 >= kQLength;
  const int tiles = is_behind ? 0 : tiles_of(at.row + group * 64 + 63);
  if (tiles == 0) widen_all_values(ring, barriers, at.tiles, progress.queries);
  if (is_behind) return;
  float result[kValueColumns / 2] = {}, scores[kKeys / 2], factor[2];
  SCORE_SUMS(sums, scores);
  u32 weights[kKeys / 16][4];
  Running running = {{-float(kInfinity), -float(kInfinity)}, {0, 0}};
  const auto begin_scores = [&](int t) {
    barrier_wait(barriers.keys(t), progress.queries);
    products_begin();
    multiply_keys(sums, front + group * 8192, ring + t * kStageBytes);
  };
  const auto begin_values = [&](int t) {
    barrier_wait(barriers.values(t), progress.queries);
    products_begin();
    multiply_values(result, weights, ring + t * kStageBytes + kKeyBytes);
  };
  if (tiles > 0) {
    pin(result);
    begin_scores(0);
    products_commit();  // No values yet.
    widen_all_values(ring, barriers, at.tiles, progress.queries);
    for (int t = 0;; ++t) {
      // In flight: these scores, and behind them the values before.
      products_wait<1>();
      pin(sums);
      TAKE_SCORES(scores, sums);
      to_exponents(scores, mask, staged, row, t * kKeys);
      to_weights(scores, running, factor, row);
      keep_above(running.sum[0] + running.sum[1], front);
      products_wait<0>();
      pin(result);
      shrink(result, factor);
      pack_weights(weights, scores);
      if (t + 1 >= tiles) {
        begin_values(t);
        break;
      }
      begin_scores(t + 1);
      begin_values(t);
    }
    products_wait<0>();
    pin(result);
  }
  store_results(result, running, front, out, at);
}
