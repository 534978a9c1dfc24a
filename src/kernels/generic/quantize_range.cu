// 8-bit quantization by a scale and zero point that lie on the device.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const X0* __restrict__ x, const float* __restrict__ scale, const u8* __restrict__ zero) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= kCount) return;
  const float v = rintf(float(widen(x[place_of_number<In0>(at)])) / *scale) + float(*zero);
  y[place_of_number<YAt>(at)] = saturate<u8>(double(v), 0.0, 255.0);
}
