// One row of attention a block: scores into `rows`, their cap, mask and softmax, then the mixture of the values. k and v are
// [batch, heads, keys, size], dense. `shown` receives the scores as they are at step kShown: 0 scaled, 1 masked, 2 capped,
// 3 softmax.


__device__ inline void show(int step, const Sum_* row, Y* shown) {
  if (step != kShown || shown == nullptr) return;
  for (i64 j = threadIdx.x; j < kKeys; j += kBlock) shown[j] = narrow<Y>(Wide<Y>(row[j]));
}

/// The summand of a score; -infinity hides the key.
__device__ inline Sum_ added(i64 b, i64 h, i64 i, i64 j, const X3* mask, i64 length) {
  const Sum_ hidden = -Sum_(kInfinity);
  if (kHasLengths && j >= length) return hidden;
  const i64 offset = kHasLengths ? length - kQueries : kOffset;
  if (kCausal && j > i + offset) return hidden;
  if constexpr (kHasMask) {
    if (j >= kMaskKeys) return hidden;
    const auto v = widen(mask[b * mask_stride(0) + h * mask_stride(1) + i * mask_stride(2) + j * mask_stride(3)]);
    if (kBooleanMask) return v != decltype(v)(0) ? Sum_(0) : hidden;
    return Sum_(v);
  }
  return 0;
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y, const X0* __restrict__ q, const X1* __restrict__ k, const X2* __restrict__ v,
           const X3* __restrict__ mask, const X6* __restrict__ lengths, Sum_* rows, Y* scores) {
  begin_kernel();
  const i64 number = i64(blockIdx.y) * gridDim.x + blockIdx.x;
  if (number >= kRows) return;
  const i64 i = number % kQueries, h = number / kQueries % kHeads, b = number / kQueries / kHeads;
  const i64 kv = b * kKvHeads + h / (kHeads / kKvHeads);
  Sum_* row = rows + number * kKeys;
  Y* shown = scores == nullptr ? nullptr : scores + number * kKeys;
  const i64 length = kHasLengths ? i64(widen(lengths[b * In6::stride(0)])) : 0;
  for (i64 j = threadIdx.x; j < kKeys; j += kBlock) {
    Sum_ sum = 0;
    for (i64 d = 0; d < kSize; ++d)
      sum += Sum_(widen(q[q_place(b, h, i, d)])) * Sum_(kScale) * Sum_(widen(k[(kv * kKeys + j) * kSize + d]));
    row[j] = sum;
  }
  __syncthreads();
  show(0, row, shown);
  if (kCap > 0)
    for (i64 j = threadIdx.x; j < kKeys; j += kBlock) row[j] = Sum_(kCap) * Sum_(tanh(double(row[j] / Sum_(kCap))));
  show(2, row, shown);
  Sum_ top = -Sum_(kInfinity);
  int seen = 0;
  for (i64 j = threadIdx.x; j < kKeys; j += kBlock) {
    const Sum_ more = added(b, h, i, j, mask, length);
    if (!(isinf(double(more)) && more < 0)) seen = 1;
    row[j] += more;
    top = row[j] > top ? row[j] : top;
  }
  __syncthreads();
  show(1, row, shown);
  top = combine_group<kBlock>(top, Max());
  seen = combine_group<kBlock>(seen, Max());
  Sum_ sum = 0;
  for (i64 j = threadIdx.x; j < kKeys; j += kBlock) {
    row[j] = seen == 0 && kHiddenRowsAreZero ? Sum_(0) : Sum_(exp(double(row[j] - top)));
    sum += row[j];
  }
  sum = combine_group<kBlock>(sum, Sum());
  for (i64 j = threadIdx.x; j < kKeys; j += kBlock)
    if (seen != 0 || !kHiddenRowsAreZero) row[j] /= sum;
  __syncthreads();
  show(3, row, shown);
  for (i64 d = threadIdx.x; d < kValueSize; d += kBlock) {
    Sum_ mixed = 0;
    for (i64 j = 0; j < kKeys; ++j) mixed += row[j] * Sum_(widen(v[(kv * kKeys + j) * kValueSize + d]));
    y[y_place(b, h, i, d)] = narrow<Y>(Wide<Y>(mixed));
  }
}
