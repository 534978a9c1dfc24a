// The initial states as floats: h, then c, of all directions.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ first_h, const X* __restrict__ first_c, float* __restrict__ to) {
  begin_kernel();
  constexpr Index kStates = Index(kDirections) * kBatch * kHidden;
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kStates) return;
  const int unit = at % kHidden, batch = at / kHidden % kBatch, direction = at / kHidden / kBatch;
  to[at] = optional(first_h, state_index(direction, batch, unit));
  to[kStates + at] = optional(first_c, state_index(direction, batch, unit));
}
