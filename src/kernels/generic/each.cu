// Each element of the result by itself: element() is the operator's, over the element's coordinates.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const X0* x0, const X1* x1, const X2* x2, const X3* x3, const X4* x4, const X5* x5,
           const X6* x6) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= Index(kCount)) return;
  i64 c[YAt::kRank + 1];
  const Index to = coordinates_of<YAt>(at, c);
  y[to] = narrow<Y>(element(c, Operands{x0, x1, x2, x3, x4, x5, x6}));
}
