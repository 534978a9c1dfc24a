// The first steps, scales and biases of convolutions of quantized/patch.cu and quantized/patch_rolls.cu.

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

/// By one thread: makes the barriers of the parts of images that are on their way, each filled by one thread and read by
/// some warps, and fetches the boxes of the weights of all taps, for which the barrier behind them stands.
template <int kParts, int kReaders, int kBoxes, int kBoxBytes>
__device__ __forceinline__ void begin_block(const TensorMap& x, const TensorMap& w, u32 weights, u32 barriers, int column) {
  const u32 loaded = barriers + kParts * 16;
  for (int i = 0; i < kParts; ++i) {
    barrier_create(barriers + i * 16, 1);
    barrier_create(barriers + i * 16 + 8, kReaders);
  }
  barrier_create(loaded, 1);
  barriers_visible();
  fetch_map(x);
  fetch_map(w);
  // Constants are there before the kernel ahead has ended.
  barrier_expect(loaded, kBoxes * kBoxBytes);
  for (int box = 0; box < kBoxes; ++box) fetch_box(weights + box * kBoxBytes, w, loaded, box * kRowBytes, column, 0);
}
