// Quantization with one scale, or its reverse, over tensors of one layout: kVector elements a thread.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const X* __restrict__ x, Y* __restrict__ y) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kVector;
  if (at >= Index(kCount)) return;
  float v[kVector];
  load_wide<kVector>(x + at, v);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if constexpr (kReverse) {
      v[i] = (v[i] - float(kZero)) * float(kScale);
    } else {
      v[i] = __fdiv_rn(v[i], float(kScale));
      // NaN becomes 0.
      if constexpr (kRounds) v[i] = v[i] != v[i] ? 0.0f : fminf(fmaxf(rintf(v[i]) + float(kZero), float(kLow)), float(kHigh));
    }
  }
  store_narrow<kVector>(y + at, v);
}
