// Scales and biases of convolutions of quantized/patch.cu and quantized/patch_rolls.cu.

enum : int { kRun = kSlab / 4, kSlabs = kTileN / kSlab };  // Of a thread's columns side by side, of a group's.

__device__ inline float number_of(int sum) {
  // Conversions are slow; the bits of 1.5 * 2^23 hold numbers below 2^22 beside them, and the bias may take that off.
  if constexpr (kSmallSums) return __int_as_float(sum + 0x4b400000) - (kBiasTakesStart ? 0.0f : 12582912.0f);
  else return float(sum);
}

/// Of the thread's columns: scales and biases. Where those are many, or registers few, they are read for each
/// tile or line.
struct Factors {
  enum : bool { kKept = kSlabs == 1 && kKeepsFactors };
  float4 of[kRun / 2];
  const float4* from;

  __device__ Factors(const float4* factors, int column) : from(factors + column / 2) {
    if constexpr (kKept) load(0);
  }
  __device__ void load(int slab) {
#pragma unroll
    for (int j = 0; j < kRun / 2; ++j) of[j] = from[slab * (kSlab / 2) + j];
  }
};
