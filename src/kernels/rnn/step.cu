// One step of a recurrence: a warp makes the gates of one hidden unit for up to kTile elements of the batch. `from` and
// `to` hold h, then c, of all directions as floats.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const float* __restrict__ products, const X* __restrict__ weights, const X* __restrict__ bias,
           const X* __restrict__ peepholes, const Length* __restrict__ lengths, const float* __restrict__ from,
           float* __restrict__ to, X* __restrict__ y, X* __restrict__ last_h, X* __restrict__ last_c, i64 step) {
  begin_kernel();
  constexpr Index kStates = Index(kDirections) * kBatch * kHidden;
  constexpr int kTiles = (kBatch + kTile - 1) / kTile;
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
    const int batch = batch0 + b;
    const Index at = (Index(direction) * kBatch + batch) * kHidden + unit;
    CellState state = {from[at], from[kStates + at]};
    const int length = length_of(lengths, batch);
    const int t = runs_backward(direction) ? length - 1 - int(step) : int(step);
    if (step < length) {
      float x[kGates], r[kGates], peephole[3];
      load_biases(bias, direction, unit, x, r);
#pragma unroll
      for (int g = 0; g < kGates; ++g) {
        x[g] += products[product_index(t, batch, direction) + g * kHidden + unit];
        r[g] += sums[b][g];
      }
#pragma unroll
      for (int p = 0; p < 3; ++p) peephole[p] = optional(peepholes, (direction * 3 + p) * Index(kHidden) + unit);
      state = advance_cell(direction, x, r, peephole, state);
      y[output_index(t, batch, direction, unit)] = narrow<X>(state.h);
    } else {
      y[output_index(int(step), batch, direction, unit)] = narrow<X>(0.0f);
    }
    to[at] = state.h;
    to[kStates + at] = state.c;
    if (step == kStepCount - 1) {
      if (last_h != nullptr) last_h[state_index(direction, batch, unit)] = narrow<X>(state.h);
      if (last_c != nullptr) last_c[state_index(direction, batch, unit)] = narrow<X>(state.c);
    }
  }
}
