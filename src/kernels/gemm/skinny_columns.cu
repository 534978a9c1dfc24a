// Products with few rows (kM up to 4) and a right operand whose columns (along k) are contiguous: a warp takes kEach
// columns, its threads share k.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const A* __restrict__ a, const B* __restrict__ b, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int n = (blockIdx.x * (kBlock / 32) + warp) * kEach;
  if (n >= kN) return;
  float acc[kM][kEach];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int j = 0; j < kEach; ++j) acc[m][j] = 0;
#pragma unroll 4
  for (int k = lane * kVector; k < kK; k += 32 * kVector) {
    float right[kEach][kVector];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int column = n + j < kN ? n + j : kN - 1;
      load_wide<kVector>(b + Index(column) * Index(kBColumn) + k, right[j]);
    }
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      float left[kVector];
      load_wide<kVector>(a + m * Index(kARow) + k, left);
#pragma unroll
      for (int j = 0; j < kEach; ++j)
#pragma unroll
        for (int i = 0; i < kVector; ++i) acc[m][j] += left[i] * right[j][i];
    }
  }
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const float total = combine_group<32>(acc[m][j], Sum());
      if (lane == (m * kEach + j) % 32 && n + j < kN) {
        const Index at = m * Index(kN) + n + j;
        Real v[1] = {Real(total)};
        epilogue<1>(v, at EPILOGUE_ARGUMENTS);
        store_located<YAt, 1>(y, at, v);
      }
    }
  }
}
