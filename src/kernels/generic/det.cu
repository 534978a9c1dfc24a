// Determinants, a block a matrix: elimination with the largest pivot, on a copy in the workspace.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const X0* __restrict__ x, double* __restrict__ copies) {
  begin_kernel();
  constexpr int kSize = kMatrix;
  __shared__ double determinant;
  __shared__ int pivot;
  double* m = copies + i64(blockIdx.x) * kSize * kSize;
  for (int i = threadIdx.x; i < kSize * kSize; i += kBlock)
    m[i] = double(widen(x[place_of_number<In0>(i64(blockIdx.x) * kSize * kSize + i)]));
  if (threadIdx.x == 0) determinant = 1;
  for (int k = 0; k < kSize; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) {
      pivot = k;
      for (int i = k + 1; i < kSize; ++i)
        if (fabs(m[i * kSize + k]) > fabs(m[pivot * kSize + k])) pivot = i;
      determinant *= m[pivot * kSize + k] * (pivot == k ? 1 : -1);
    }
    __syncthreads();
    if (determinant == 0) break;
    if (pivot != k)
      for (int j = threadIdx.x; j < kSize; j += kBlock) {
        const double held = m[k * kSize + j];
        m[k * kSize + j] = m[pivot * kSize + j];
        m[pivot * kSize + j] = held;
      }
    __syncthreads();
    const int rest = kSize - k - 1;
    for (int at = threadIdx.x; at < rest * rest; at += kBlock) {
      const int i = k + 1 + at / rest, j = k + 1 + at % rest;
      m[i * kSize + j] -= m[i * kSize + k] / m[k * kSize + k] * m[k * kSize + j];
    }
  }
  if (threadIdx.x == 0) y[place_of_number<YAt>(blockIdx.x)] = narrow<Y>(Wide<Y>(determinant));
}
