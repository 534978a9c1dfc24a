// The initial states as floats: h, then c, of all directions; h also as it is, where that is wanted.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ first_h, const X* __restrict__ first_c, float* __restrict__ to, X* __restrict__ rounded) {
  begin_kernel();
  const Index kStates = Index(kDirections) * kBatch * kHidden;
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kStates) return;
  const int unit = at % kHidden, batch = at / kHidden % kBatch, direction = at / kHidden / kBatch;
  to[at] = optional(first_h, state_index(direction, batch, unit));
  if (rounded != nullptr) rounded[at] = narrow<X>(to[at]);
  to[kStates + at] = optional(first_c, state_index(direction, batch, unit));
}
