// A tensor whose fastest axis (kFromExtent elements) is not the fastest one of the result (kToExtent elements): tiles of
// both through shared memory, packs on both sides. The other axes are the grid's.

enum : int { kPitch = kTile + 1 };
enum : int { kFromTiles = (kFromExtent + kTile - 1) / kTile, kToTiles = (kToExtent + kTile - 1) / kTile };

extern "C" __global__ void __launch_bounds__(kBlock) kernel(const Word* __restrict__ from, Word* __restrict__ to) {
  begin_kernel();
  __shared__ Word tile[kTile][kPitch];
  Index block = blockIdx.x;
  // Blocks that run together finish whole lines of the side with fewer tiles.
  constexpr bool kFromFirst = kFromTiles < kToTiles;
  const Index inner = block % (kFromFirst ? kFromTiles : kToTiles);
  block /= kFromFirst ? kFromTiles : kToTiles;
  const Index outer = block % (kFromFirst ? kToTiles : kFromTiles);
  const Index rest = block / (kFromFirst ? kToTiles : kFromTiles);
  const Index from_tile = kFromFirst ? inner : outer, to_tile = kFromFirst ? outer : inner;
  const Index f0 = from_tile * kTile, t0 = to_tile * kTile;
  const Word* source = from + kFromOffset + locate<FromRestAt>(rest) + f0 + t0 * Index(kFromStride);
  Word* target = to + kToOffset + locate<ToRestAt>(rest) + t0 + f0 * Index(kToStride);
  constexpr int kFromPacks = kTile / kFromVector, kToPacks = kTile / kToVector;
#pragma unroll
  for (int i = threadIdx.x; i < kTile * kFromPacks; i += kBlock) {
    const int f = i % kFromPacks * kFromVector, t = i / kFromPacks;
    if (f0 + f < Index(kFromExtent) && t0 + t < Index(kToExtent)) {
      const Pack<Word, kFromVector> pack = load_pack<kFromVector>(source + t * Index(kFromStride) + f);
#pragma unroll
      for (int k = 0; k < kFromVector; ++k) tile[t][f + k] = pack.v[k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < kTile * kToPacks; i += kBlock) {
    const int t = i % kToPacks * kToVector, f = i / kToPacks;
    if (f0 + f < Index(kFromExtent) && t0 + t < Index(kToExtent)) {
      Pack<Word, kToVector> pack;
#pragma unroll
      for (int k = 0; k < kToVector; ++k) pack.v[k] = tile[t + k][f];
      store_pack<kToVector>(target + f * Index(kToStride) + t, pack);
    }
  }
}
