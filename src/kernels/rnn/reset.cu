// A GRU whose reset acts before the product with the state: a block makes all steps of one element of the batch.

__device__ inline float dot(const X* row, const float* state, int lane) {
  float sum = 0;
  for (int k = lane; k < kHidden; k += 32) sum += widen(row[k]) * state[k];
  return combine_group<32>(sum, Sum());
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const float* __restrict__ products, const X* __restrict__ weights, const X* __restrict__ bias,
           const Length* __restrict__ lengths, const X* __restrict__ first_h, X* __restrict__ y, X* __restrict__ last_h) {
  begin_kernel();
  __shared__ float h[kHidden], reset[kHidden], next[kHidden];
  const int direction = blockIdx.x / kBatch, batch = blockIdx.x % kBatch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < kHidden; i += kBlock) h[i] = optional(first_h, state_index(direction, batch, i));
  const int length = length_of(lengths, batch);
  const X* rows = weights + Index(direction * kGates) * kHidden * kHidden;
  for (int step = 0; step < kStepCount; ++step) {
    __syncthreads();
    if (step >= length) {
      for (int i = threadIdx.x; i < kHidden; i += kBlock) y[output_index(step, batch, direction, i)] = narrow<X>(0.0f);
      continue;
    }
    const int t = runs_backward(direction) ? length - 1 - step : step;
    const float* x = products + product_index(t, batch, direction);
    for (int unit = warp; unit < kHidden; unit += kBlock / 32) {
      float input[kGates], state[kGates];
      load_biases(bias, direction, unit, input, state);
      const float update = dot(rows + Index(unit) * kHidden, h, lane);
      const float kept = dot(rows + Index(kHidden + unit) * kHidden, h, lane);
      if (lane > 0) continue;
      next[unit] = activation<0>(direction, clipped(x[unit] + input[0] + update + state[0]));
      reset[unit] = h[unit] * activation<0>(direction, clipped(x[kHidden + unit] + input[1] + kept + state[1]));
    }
    __syncthreads();
    for (int unit = warp; unit < kHidden; unit += kBlock / 32) {
      float input[kGates], state[kGates];
      load_biases(bias, direction, unit, input, state);
      const float candidate = dot(rows + Index(2 * kHidden + unit) * kHidden, reset, lane);
      if (lane > 0) continue;
      const float fresh = activation<1>(direction, clipped(x[2 * kHidden + unit] + input[2] + candidate + state[2]));
      next[unit] = (1 - next[unit]) * fresh + next[unit] * h[unit];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kHidden; i += kBlock) {
      h[i] = next[i];
      y[output_index(t, batch, direction, i)] = narrow<X>(h[i]);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kHidden && last_h != nullptr; i += kBlock)
    last_h[state_index(direction, batch, i)] = narrow<X>(h[i]);
}
