// The rows of A in gemm/hopper.cu where A is a matrix.
__device__ inline void fetch_a(const TensorMap& map, u32 to, u32 barrier, const Tile& tile, int k, CachePolicy policy) {
  if constexpr (kWalks && !kAByColumns) fetch_box(to, map, barrier, k, tile.m, kABatched ? tile.batch : 0, policy);
  else fetch_rows<kTileM, kAByColumns>(map, to, barrier, k, tile.m, kABatched ? tile.batch : 0);
}
