// Products with few rows (kM up to 4) and a right operand whose rows (along n) are contiguous: limited by how fast that is
// read. A block takes kColumns columns and one of kSplits pieces of k; its kShares groups of threads share the piece.

enum : int { kLanes = kColumns / kVector, kShares = kBlock / kLanes };
enum : int { kPiece = (kK + kSplits - 1) / kSplits };
enum : int { kChunk = 256 };  // Of k, whose left operands lie in shared memory.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const A* __restrict__ a, const B* __restrict__ b, Y* __restrict__ y,
           float* __restrict__ partial EPILOGUE_PARAMETERS) {
  begin_kernel();
  __shared__ float left[kChunk][kM];
  __shared__ float sums[kShares][kLanes * kVector];
  const int lane = threadIdx.x % kLanes, share = threadIdx.x / kLanes;
  const int n = blockIdx.x * kColumns + lane * kVector;
  const bool active = n < kN;
  const int begin = blockIdx.y * kPiece, end = begin + kPiece < kK ? begin + kPiece : kK;
  float acc[kM][kVector];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int i = 0; i < kVector; ++i) acc[m][i] = 0;
  for (int chunk = begin; chunk < end; chunk += kChunk) {
    __syncthreads();
    for (int i = threadIdx.x; i < kChunk * kM; i += kBlock) {
      const int k = i % kChunk, m = i / kChunk;
      left[k][m] = chunk + k < end ? widen(a[m * Index(kARow) + Index(chunk + k) * Index(kAColumn)]) : 0.0f;
    }
    __syncthreads();
    const int stop = chunk + kChunk < end ? chunk + kChunk : end;
    if (active) {
#pragma unroll 8
      for (int k = chunk + share; k < stop; k += kShares) {
        float v[kVector];
        load_wide<kVector>(b + Index(k) * Index(kBRow) + n, v);
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
          for (int i = 0; i < kVector; ++i) acc[m][i] += left[k - chunk][m] * v[i];
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kVector; ++i) sums[share][lane * kVector + i] = acc[m][i];
    __syncthreads();
    for (int c = threadIdx.x; c < kColumns; c += kBlock) {
      const int column = blockIdx.x * kColumns + c;
      if (column >= kN) break;
      float total = sums[0][c];
#pragma unroll
      for (int s = 1; s < kShares; ++s) total += sums[s][c];
      const Index at = m * Index(kN) + column;
      if constexpr (kSplits > 1) {
        partial[Index(blockIdx.y) * (kM * Index(kN)) + at] = total;
      } else {
        Real v[1] = {Real(total)};
        epilogue<1>(v, at EPILOGUE_ARGUMENTS);
        store_located<YAt, 1>(y, at, v);
      }
    }
  }
}
