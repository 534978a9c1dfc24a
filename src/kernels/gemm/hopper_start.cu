// The start of the sums of gemm/hopper.cu: 0, or the bias behind the product, one number a column, which costs no
// instruction behind the products then. It is prefetched: a constant one before the launch ahead has ended.
#ifdef BIASED
struct Start {
  enum : bool { kBiased = true };
  Fetched<BiasAt, 2, Bias> pairs[kTileN / 8];

  __device__ void fetch(const Tile& tile, const Bias* bias) {
#pragma unroll
    for (int j = 0; j < kTileN / 8; ++j) fetch_pair<BiasAt>(pairs[j], bias, 0, tile.n + j * 8 + threadIdx.x % 4 * 2);
  }
  __device__ void fill(Accumulator (&sums)[kParts][kTileN / 2]) const {
#pragma unroll
    for (int j = 0; j < kTileN / 8; ++j) {
      float bias[2];
      widen_fetched<BiasAt, 2>(pairs[j], bias);
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[part][j * 4 + i] = bias[i % 2];
    }
  }
};
#else
typedef Y Bias;
enum : bool { kBiasConstant = false };
struct Start {
  enum : bool { kBiased = false };
  __device__ void fetch(const Tile&, const Bias*) {}
  __device__ void fill(Accumulator (&)[kParts][kTileN / 2]) const {}
};
#endif
