// Attention of any float type and size without tensor cores: a warp takes a query, a thread a key of the 32 in shared
// memory; then a thread takes elements of the values.

enum : int { kBlock = kWarps * 32, kPitchK = kSize + 1, kEach = (kValueSize + 31) / 32 };

__device__ inline void load_values(float* values, const X* from, int first) {
  for (int i = threadIdx.x; i < 32 * kValueSize; i += kBlock) {
    const int j = i / kValueSize, d = i % kValueSize;
    values[i] = first + j < kKvLength ? widen(from[(first + j) * Index(kVPosition) + d]) : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ q, const X* __restrict__ k, const X* __restrict__ v, const Mask* __restrict__ mask,
           X* __restrict__ out) {
  begin_kernel();
  extern __shared__ __align__(16) unsigned char shared[];
  float* keys = reinterpret_cast<float*>(shared);
  // Large heads: values take the place of their keys.
  float* values = kShared ? keys : keys + 32 * kPitchK;
  float* queries = kShared ? keys + 32 * (kPitchK > kValueSize ? kPitchK : kValueSize) : values + 32 * kValueSize;
  const Head head = locate_head(q, k, v, mask, out, blockIdx.z, blockIdx.y);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int query = blockIdx.x * kWarps + warp, row = query < kQLength ? query : kQLength - 1;
  for (int d = lane; d < kSize; d += 32) queries[warp * kSize + d] = widen(head.q[row * Index(kQPosition) + d]);
  float result[kEach] = {};
  float top = -float(kInfinity), sum = 0;
  const int end = last_key(blockIdx.x * kWarps + kWarps - 1);
  // Weights that are rounded must be known: a pass for their sums comes first.
  for (int pass = kRounds ? 0 : 1; pass < 2; ++pass) {
    const bool keeps_sums = kRounds && pass == 1;
    for (int first = 0; first < end; first += 32) {
      __syncthreads();
      for (int i = threadIdx.x; i < 32 * kSize; i += kBlock) {
        const int j = i / kSize, d = i % kSize;
        keys[j * kPitchK + d] = first + j < kKvLength ? widen(head.k[(first + j) * Index(kKPosition) + d]) : 0.0f;
      }
      if (!kShared) load_values(values, head.v, first);
      __syncthreads();
      float product = 0;
#pragma unroll 8
      for (int d = 0; d < kSize; ++d) product += queries[warp * kSize + d] * keys[lane * kPitchK + d];
      const float score = to_exponent(product, head.mask, row, first + lane);
      const float most = keeps_sums ? top : fmaxf(top, combine_group<32>(score, Max()));
      const float base = most == -float(kInfinity) ? 0.0f : most;
      const float factor = keeps_sums ? 1.0f : exp2f(top - base);
      float weight = exp2f(score - base);
      if (keeps_sums) {
        weight = rounded_weight(weight / sum);
      } else {
        top = most;
        sum = sum * factor + combine_group<32>(weight, Sum());
        if (pass == 0) continue;
      }
      if (kShared) {
        __syncthreads();
        load_values(values, head.v, first);
        __syncthreads();
      }
#pragma unroll
      for (int e = 0; e < kEach; ++e) result[e] *= factor;
#pragma unroll 8
      for (int j = 0; j < 32; ++j) {
        const float w = __shfl_sync(0xffffffffu, weight, j);
#pragma unroll
        for (int e = 0; e < kEach; ++e)
          if (kValueSize % 32 == 0 || e * 32 + lane < kValueSize)
            result[e] += w * values[j * kValueSize + e * 32 + lane];
      }
    }
  }
  if (kRounds && sum > 0) sum = 1;
  if (query >= kQLength) return;
  const float inverse = inverse_sum(sum);
#pragma unroll
  for (int e = 0; e < kEach; ++e)
    if (e * 32 + lane < kValueSize) head.out[row * Index(kOutPosition) + e * 32 + lane] = narrow<X>(result[e] * inverse);
}
