// Distinct slices in the order wanted: `order` gets their places, `ranks` (by place) their numbers, `counts` how many equal
// each.

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(i64* __restrict__ order, i64* __restrict__ ranks, i64* __restrict__ counts, const i64* __restrict__ firsts,
           const i64* __restrict__ leaders, const X0* __restrict__ x, i64 groups) {
  begin_kernel();
  const i64 g = i64(blockIdx.x) * kBlock + threadIdx.x;
  if (g >= groups) return;
  const i64 own = firsts[g];
  i64 rank = g;
  if (kSorted) {
    rank = 0;
    for (i64 h = 0; h < groups; ++h) rank += compare_slices(x, firsts[h], own) < 0;
  }
  order[rank] = own;
  ranks[own] = rank;
  if (counts == nullptr) return;
  i64 count = 0;
  for (i64 i = own; i < kSlices; ++i) count += leaders[i] == own;
  counts[rank] = count;
}
