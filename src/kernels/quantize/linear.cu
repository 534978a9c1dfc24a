// Quantization with one scale, or its reverse: kVector elements a thread, in the order of the result, of tensors of any strides.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const X* __restrict__ x, Y* __restrict__ y) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kVector;
  if (at >= Index(kCount)) return;
  float v[kVector];
  load_located<XAt, kVector>(x, at, v);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if constexpr (kReverse) {
      v[i] = (v[i] - float(kZero)) * float(kScale);
    } else {
      v[i] = in_scales<kByReciprocal>(v[i], kScale, kInverse);
      if constexpr (kRounds) v[i] = whole_in_scales(v[i], kZero, kLow, kHigh);
    }
  }
  store_located<YAt, kVector>(y, at, v);
}
