// Rows of image, class and box of all that were kept: `starts` says where each class's begin.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(i64* __restrict__ y, const i64* __restrict__ kept, const i64* __restrict__ starts, i64 total) {
  begin_kernel();
  const i64 from = starts[blockIdx.x], to = blockIdx.x + 1 < gridDim.x ? starts[blockIdx.x + 1] : total;
  for (i64 i = threadIdx.x; i < to - from; i += kBlock) {
    i64* row = y + (from + i) * 3;
    row[0] = blockIdx.x / kClasses;
    row[1] = blockIdx.x % kClasses;
    row[2] = kept[i64(blockIdx.x) * kBoxes + i];
  }
}
