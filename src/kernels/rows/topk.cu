// The k first elements of each line of [kOuter, kLength, kInner] in order, a block a line: the key of the last one by
// radix selection, then all before it and the first ones equal to it, in order of their places, then a sort. NaN counts
// as the largest; equal elements keep their order.

/// Sum of `flag` over the threads before this one, and over all of the block.
__device__ inline int count_before(bool flag, int& all) {
  __shared__ int warps[kBlock / 32];
  const u32 votes = __ballot_sync(0xffffffffu, flag);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = __popc(votes);
  __syncthreads();
  int before = __popc(votes & ((1u << threadIdx.x % 32) - 1));
  all = 0;
#pragma unroll
  for (int w = 0; w < kBlock / 32; ++w) {
    if (w < int(threadIdx.x / 32)) before += warps[w];
    all += warps[w];
  }
  return before;
}

/// Logarithm of the sum of the line's exponentials. All threads of the block call it.
__device__ inline float log_sum_exp(const X* line) {
  float top = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < kLength; i += kBlock) top = Max()(top, float(widen(line[i * Index(kInner)])));
  top = combine_group<kBlock>(top, Max());
  float sum = 0;
  for (int i = threadIdx.x; i < kLength; i += kBlock) sum += exp(float(widen(line[i * Index(kInner)])) - top);
  return top + log(combine_group<kBlock>(sum, Sum()));
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, X* __restrict__ values, i64* __restrict__ places) {
  begin_kernel();
  __shared__ int counts[256];
  __shared__ Ordered chosen[kPadded];
  __shared__ Key shared_prefix;
  __shared__ int shared_left;
  const Index outer = blockIdx.x / Index(kInner), inner = blockIdx.x % Index(kInner);
  const X* line = x + outer * (Index(kLength) * Index(kInner)) + inner;
  Key prefix = 0;
  int left = kK;
  for (int shift = kBits - 8; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < 256; i += kBlock) counts[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < kLength; i += kBlock) {
      const Key key = key_of(line[i * Index(kInner)]);
      const bool same = shift == kBits - 8 || (key >> shift >> 8) == (prefix >> shift >> 8);
      if (same) atomicAdd(&counts[key >> shift & 255], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = 255;
      while (digit > 0 && counts[digit] < left) left -= counts[digit--];
      shared_prefix = prefix | Key(digit) << shift;
      shared_left = left;
    }
    __syncthreads();
    prefix = shared_prefix;
    left = shared_left;
  }
  // `left` of those equal to the last key are taken.
  int taken = 0, equal = 0;
  for (int first = 0; first < kLength; first += kBlock) {
    const int i = first + threadIdx.x;
    const Key key = i < kLength ? key_of(line[i * Index(kInner)]) : Key(0);
    const bool is_equal = i < kLength && key == prefix;
    int all_equal, all_taken;
    const int before_equal = equal + count_before(is_equal, all_equal);
    const bool take = i < kLength && (key > prefix || (is_equal && before_equal < left));
    const int at = taken + count_before(take, all_taken);
    if (take) chosen[at] = {key, i};
    equal += all_equal;
    taken += all_taken;
  }
  for (int i = kK + threadIdx.x; i < kPadded; i += kBlock) chosen[i] = {Key(0), 0x7fffffff};
  for (int size = 2; size <= kPadded; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < kPadded / 2; i += kBlock) {
        const int a = i / step * (2 * step) + i % step, b = a + step;
        const Ordered low = chosen[a], high = chosen[b];
        if (comes_first(high, low) == ((a & size) == 0)) {
          chosen[a] = high;
          chosen[b] = low;
        }
      }
    }
  __syncthreads();
  const float all = kSoftmax ? log_sum_exp(line) : 0.0f;
  for (int i = threadIdx.x; i < kK; i += kBlock) {
    const Index to = (outer * Index(kK) + i) * Index(kInner) + inner;
    const X element = line[chosen[i].place * Index(kInner)];
    const float share = float(widen(element)) - all;
    values[to] = kSoftmax ? narrow<X>(kLog ? share : exp(share)) : element;
    places[to] = chosen[i].place;
  }
}
