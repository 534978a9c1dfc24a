// Products and weights of tiles relative to the greatest score so far (attention/hopper_free.cu, attention/hopper_ahead.cu).

#define kFactor (kPlain ? kUnit : 1.0f)

/// Exponents to weights, and the factors of earlier sums, which are relative to the earlier maximum. A warp leaves out
/// 8 rows all of which are behind the last query; `row` is the thread's.
__device__ inline void to_weights(float (&scores)[kKeys / 2], Running& running, float (&factor)[2], int row) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (kHasHalfRows && row - row % 8 + 8 * r >= kQLength) {
      factor[r] = 1;
      continue;
    }
    float most = running.top[r];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
      most = fmaxf(most, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    const float base = most == -float(kInfinity) ? 0.0f : __fmul_rn(most, kFactor);
    // Rounded as the base was: where scores have a start of their own (hopper_bytes.cu), the products are large.
    factor[r] = power_of_2(__fmul_rn(running.top[r], kFactor) - base);
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
    running.sum[r] = running.sum[r] * factor[r] + sum;
  }
}

__device__ inline void shrink(float (&result)[kValueColumns / 2], const float (&factor)[2]) {
#pragma unroll
  for (int n = 0; n < kValueColumns / 2; ++n) result[n] *= factor[n / 2 % 2];
}

__device__ inline void pack_weights(u32 (&weights)[kKeys / 16][4], const float (&scores)[kKeys / 2]) {
#pragma unroll
  for (int s = 0; s < kKeys / 16; ++s)
#pragma unroll
    for (int i = 0; i < 4; ++i) weights[s][i] = pair_of(Weight(), scores[8 * s + 2 * i], scores[8 * s + 2 * i + 1]);
}

__device__ inline void multiply_keys(ScoreSum (&scores)[kKeys / 2], u32 queries, u32 keys) {
  constexpr int kBoxSteps = kRowBytes / 32;
#pragma unroll
  for (int s = 0; s < kSizeSteps; ++s)
    score_product(scores, rows_descriptor<kRowBytes>(queries + s / kBoxSteps * (kRows * 128) + s % kBoxSteps * 32),
                  rows_descriptor<kRowBytes>(keys + s / kBoxSteps * (kKeys * kRowBytes) + s % kBoxSteps * 32), s > 0);
  products_commit();
}
__device__ inline void multiply_values(float (&result)[kValueColumns / 2], const u32 (&weights)[kKeys / 16][4], u32 values) {
#pragma unroll
  for (int s = 0; s < kKeys / 16; ++s) value_product(result, weights[s], tile_descriptor(values + s * 2048, kKeys * 128), 1);
  products_commit();
}

/// Keeps their readers below the wait.
template <int kCount>
__device__ inline void pin(float (&v)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(v[i])::"memory");
}
template <int kCount>
__device__ inline void pin(int (&v)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(v[i])::"memory");
}

__device__ inline void begin_turns(int) {}
