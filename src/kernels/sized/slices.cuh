// x0 as kCount slices of kOuter times kRun elements, and their order: NaN comes last and equals itself.
__device__ inline Wide<X0> slice_element(const X0* x, i64 slice, i64 at) {
  return widen(x[place_of_number<In0>((at / kRun * kSlices + slice) * kRun + at % kRun)]);
}
__device__ inline int compare_slices(const X0* x, i64 a, i64 b) {
  for (i64 at = 0; at < kOuter * kRun; ++at) {
    const Wide<X0> u = slice_element(x, a, at), v = slice_element(x, b, at);
    if (u < v) return -1;
    if (v < u) return 1;
    const int order = int(u != u) - int(v != v);
    if (order != 0) return order;
  }
  return 0;
}
