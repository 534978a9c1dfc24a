// Least and largest of all elements and zero: one block a launch. Writes scale and zero point of 8-bit quantization.

struct Least {
  __device__ float operator()(float a, float b) const { return b < a ? b : a; }
};
struct Largest {
  __device__ float operator()(float a, float b) const { return b > a ? b : a; }
};

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X0* __restrict__ x, float* __restrict__ scale, u8* __restrict__ zero) {
  begin_kernel();
  float low = 0, high = 0;
  for (i64 i = threadIdx.x; i < kCount; i += kBlock) {
    const float v = float(widen(x[place_of_number<In0>(i)]));
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  low = combine_group<kBlock>(low, Least());
  __syncthreads();
  high = combine_group<kBlock>(high, Largest());
  if (threadIdx.x > 0) return;
  const float step = high == low ? 1.0f : (high - low) / 255.0f;
  *scale = step;
  *zero = u8(clamped(rintf(-low / step), 0.0f, 255.0f));
}
