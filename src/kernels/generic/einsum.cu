// A sum over products of operands: kSummed loop positions inside, sum_extent() and offsets made by the planner.

__device__ inline Real element(i64* c, const Operands& o) {
  Accumulator sum = 0;
  for (i64 s = 0; s < kSummed; ++s) sum += product_at(c, s, o);
  return Real(sum);
}
