// How often n-grams occur in a row. x6: for each n-gram its length, the place of its count, and its items. kMode: 0
// counts, 1 weights where it occurs, 2 both.

__device__ inline i64 occurrences(const X0* row, const i64* gram, i64 size) {
  i64 found = 0;
  for (i64 skip = 1; skip <= (size == 1 ? 1 : kSkips + 1); ++skip)
    for (i64 start = 0; start + (size - 1) * skip < kLength; ++start) {
      bool same = true;
      for (i64 i = 0; i < size && same; ++i) same = i64(widen(row[(start + i * skip) * kItemStride])) == gram[i];
      found += same;
    }
  return found;
}

__device__ inline Real element(i64* c, const Operands& o) {
  const X0* row = o.x0 + (YAt::kRank == 2 ? c[0] * In0::stride(0) : 0);
  const i64 column = c[YAt::kRank - 1];
  i64 count = 0;
  const i64* gram = o.x6;
  for (int n = 0; n < kGrams; ++n) {
    const i64 size = gram[0], place = gram[1];
    if (place == column) count += occurrences(row, gram + 2, size);
    gram += 2 + size;
  }
  if (kMode == 0) return Real(count);
  const double weight = kWeighted ? __longlong_as_double(gram[column]) : 1.0;
  return Real(weight * double(kMode == 1 ? (count > 0 ? 1 : 0) : count));
}
