// One step of a recurrence: a warp makes the gates of one hidden unit for up to kTile elements of the batch.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const float* __restrict__ products, const X* __restrict__ weights, const X* __restrict__ bias,
           const X* __restrict__ peepholes, const Length* __restrict__ lengths, const float* __restrict__ from,
           float* __restrict__ to, X* __restrict__ y, X* __restrict__ last_h, X* __restrict__ last_c, i64 step) {
  begin_kernel();
  const int kTiles = (kBatch + kTile - 1) / kTile;
  int task = blockIdx.x * (kBlock / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (task >= kDirections * kTiles * kHidden) return;
  const int unit = task % kHidden;
  task /= kHidden;
  const int batch0 = task % kTiles * kTile, direction = task / kTiles;
  float sums[kTile][kGates];
#pragma unroll
  for (int b = 0; b < kTile; ++b)
#pragma unroll
    for (int g = 0; g < kGates; ++g) sums[b][g] = 0;
#pragma unroll 4
  for (int k = lane; k < kHidden; k += 32) {
    float w[kGates];
#pragma unroll
    for (int g = 0; g < kGates; ++g)
      w[g] = widen(weights[(Index(direction * kGates + g) * kHidden + unit) * kHidden + k]);
#pragma unroll
    for (int b = 0; b < kTile; ++b) {
      const float h = batch0 + b < kBatch ? from[(Index(direction) * kBatch + batch0 + b) * kHidden + k] : 0.0f;
#pragma unroll
      for (int g = 0; g < kGates; ++g) sums[b][g] += w[g] * h;
    }
  }
#pragma unroll
  for (int b = 0; b < kTile; ++b)
#pragma unroll
    for (int g = 0; g < kGates; ++g) sums[b][g] = combine_group<32>(sums[b][g], Sum());
#pragma unroll
  for (int b = 0; b < kTile; ++b) {
    if (lane != b || batch0 + b >= kBatch) continue;
    advance_stored({products, bias, peepholes, lengths, y, last_h, last_c}, int(step), direction, batch0 + b, unit, from, to,
                   sums[b]);
  }
}
