// Each element of the result computed by itself: element() is the planner's.

extern "C" __global__ void __launch_bounds__(kBlock) kernel(Y* __restrict__ y ELEMENT_PARAMETERS) {
  begin_kernel();
  const Index at = Index(blockIdx.x) * kBlock + threadIdx.x;
  if (at >= Index(kCount)) return;
  y[locate<YAt>(at)] = narrow<Y>(element(at ELEMENT_ARGUMENTS));
}
