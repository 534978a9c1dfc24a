// Attention on tensor cores (16-bit floats, sm_80): a warp takes 16 queries against kKeys keys at a time, with a running
// maximum and sum; scores never leave registers. The next keys are loaded while values are summed, and the reverse.

enum : int { kSizePadded = (kSize + 15) / 16 * 16, kValuePadded = (kValueSize + 15) / 16 * 16 };
// 16 bytes more than a row needs: rows of 8x8 matrices then lie in different banks.
enum : int { kPitchK = kSizePadded + 8, kPitchV = kValuePadded + 8 };
enum : int { kBlock = kWarps * 32 };

__device__ inline u32 pack_pair(float low, float high) {
  return u32(narrow<X>(low).bits) | u32(narrow<X>(high).bits) << 16;
}

/// Rows [first, first + kKeys) of keys or values to shared memory, zeros behind the last.
template <int kLength, int kPadded, int kPitch>
__device__ inline void load_rows(X* to, const X* from, i64 stride, int first) {
  constexpr int kPacks = kPadded / 8;
#pragma unroll 4
  for (int i = threadIdx.x; i < kKeys * kPacks; i += kBlock) {
    const int row = i / kPacks, column = i % kPacks * 8;
    const bool inside = first + row < kKvLength && column < kLength;
    const X* source = from + (inside ? (first + row) * stride + column : 0);
    if constexpr (kVectorLoads) {
      copy_async(to + row * kPitch + column, source, inside);
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        X value;
        value.bits = 0;
        if (inside && column + k < kLength) value = source[k];
        to[row * kPitch + column + k] = value;
      }
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
__device__ inline void wait_rows() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  __syncthreads();
}

__device__ inline u32 query_pair(const X* q, int row, int column) {
  if (row >= kQLength || column >= kSize) return 0;
  const u32 low = q[row * Index(kQPosition) + column].bits;
  const u32 high = column + 1 < kSize ? q[row * Index(kQPosition) + column + 1].bits : 0;
  return low | high << 16;
}

/// Products of the warp's queries with the keys in shared memory.
__device__ inline void add_products(float (&scores)[kKeys / 8][4], const u32 (&queries)[kSizePadded / 16][4], const X* keys) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kKeys; n += 16) {
#pragma unroll
    for (int s = 0; s < kSizePadded / 16; ++s) {
      u32 r[4];
      load_matrices(r, shared_address(keys + (n + lane / 16 * 8 + lane % 8) * kPitchK + s * 16 + lane / 8 % 2 * 8));
      multiply(scores[n / 8], queries[s], r[0], r[1]);
      multiply(scores[n / 8 + 1], queries[s], r[2], r[3]);
    }
  }
}

/// Values in shared memory, by their weights.
__device__ inline void add_values(float (&result)[kValuePadded / 8][4], const float (&scores)[kKeys / 8][4], const X* values) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int s = 0; s < kKeys / 16; ++s) {
    const u32 weights[4] = {pack_pair(scores[2 * s][0], scores[2 * s][1]), pack_pair(scores[2 * s][2], scores[2 * s][3]),
                            pack_pair(scores[2 * s + 1][0], scores[2 * s + 1][1]),
                            pack_pair(scores[2 * s + 1][2], scores[2 * s + 1][3])};
#pragma unroll
    for (int n = 0; n < kValuePadded; n += 16) {
      u32 r[4];
      load_matrices_transposed(
          r, shared_address(values + (s * 16 + lane / 8 % 2 * 8 + lane % 8) * kPitchV + n + lane / 16 * 8));
      multiply(result[n / 8], weights, r[0], r[1]);
      multiply(result[n / 8 + 1], weights, r[2], r[3]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ q, const X* __restrict__ k, const X* __restrict__ v, const Mask* __restrict__ mask,
           X* __restrict__ out) {
  begin_kernel();
  extern __shared__ __align__(16) unsigned char shared[];
  X* keys = reinterpret_cast<X*>(shared);
  X* values = keys + kKeys * kPitchK;
  const Head head = locate_head(q, k, v, mask, out, blockIdx.z, blockIdx.y);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int block_row = blockIdx.x * (kWarps * 16), row = block_row + warp * 16 + g;
  const int end = last_key(block_row + kWarps * 16 - 1);
  load_rows<kSize, kSizePadded, kPitchK>(keys, head.k, kKPosition, 0);
  load_rows<kValueSize, kValuePadded, kPitchV>(values, head.v, kVPosition, 0);
  u32 queries[kSizePadded / 16][4];
#pragma unroll
  for (int s = 0; s < kSizePadded / 16; ++s) {
    queries[s][0] = query_pair(head.q, row, s * 16 + 2 * t);
    queries[s][1] = query_pair(head.q, row + 8, s * 16 + 2 * t);
    queries[s][2] = query_pair(head.q, row, s * 16 + 8 + 2 * t);
    queries[s][3] = query_pair(head.q, row + 8, s * 16 + 8 + 2 * t);
  }
  float result[kValuePadded / 8][4] = {};
  float top[2] = {-float(kInfinity), -float(kInfinity)}, sum[2] = {0, 0};
  // Weights that are rounded must be known: a pass for their sums comes first.
  for (int pass = kRounds ? 0 : 1; pass < 2; ++pass) {
    for (int first = 0; first < end; first += kKeys) {
      const auto next_values = [&] {
        if (first + kKeys < end) load_rows<kValueSize, kValuePadded, kPitchV>(values, head.v, kVPosition, first + kKeys);
        else asm volatile("cp.async.commit_group;" ::: "memory");
      };
      wait_rows<1>();
      float scores[kKeys / 8][4] = {};
      add_products(scores, queries, keys);
      __syncthreads();
      if (first + kKeys < end) load_rows<kSize, kSizePadded, kPitchK>(keys, head.k, kKPosition, first + kKeys);
      else asm volatile("cp.async.commit_group;" ::: "memory");
      float most[2] = {top[0], top[1]};
      const bool keeps_sums = kRounds && pass == 1;
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          // Rows behind the last query read the mask of the last one.
          const int query = row + i / 2 * 8 < kQLength ? row + i / 2 * 8 : kQLength - 1;
          scores[n][i] = to_exponent(scores[n][i], head.mask, query, first + n * 8 + 2 * t + i % 2);
          most[i / 2] = fmaxf(most[i / 2], scores[n][i]);
        }
      float base[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        most[r] = fmaxf(most[r], __shfl_xor_sync(0xffffffffu, most[r], 1));
        most[r] = fmaxf(most[r], __shfl_xor_sync(0xffffffffu, most[r], 2));
        base[r] = most[r] == -float(kInfinity) ? 0.0f : most[r];
        if (keeps_sums) continue;
        const float factor = power_of_2(top[r] - base[r]);
        top[r] = most[r];
        sum[r] *= factor;
#pragma unroll
        for (int n = 0; n < kValuePadded / 8; ++n) {
          result[n][2 * r] *= factor;
          result[n][2 * r + 1] *= factor;
        }
      }
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[n][i] = power_of_2(scores[n][i] - base[i / 2]);
          if (keeps_sums) scores[n][i] = rounded_weight(scores[n][i] / sum[i / 2]);
          else sum[i / 2] += scores[n][i];
        }
      wait_rows<1>();
      if (kRounds && pass == 0) {
        __syncthreads();
        next_values();
        continue;
      }
      add_values(result, scores, values);
      __syncthreads();
      next_values();
    }
    if (kRounds && pass == 0) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 1);
        sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 2);
      }
      wait_rows<0>();
      load_rows<kSize, kSizePadded, kPitchK>(keys, head.k, kKPosition, 0);
      load_rows<kValueSize, kValuePadded, kPitchV>(values, head.v, kVPosition, 0);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (kRounds) {
      if (sum[r] > 0) sum[r] = 1;
    } else {
      sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 1);
      sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 2);
    }
    const float inverse = inverse_sum(sum[r]);
    if (row + r * 8 >= kQLength) continue;
    X* to = head.out + (row + r * 8) * Index(kOutPosition);
#pragma unroll
    for (int n = 0; n < kValuePadded / 8; ++n) {
      const int column = n * 8 + 2 * t;
      if (kPairStores && column + 1 < kValueSize) {
        *reinterpret_cast<u32*>(to + column) = pack_pair(result[n][2 * r] * inverse, result[n][2 * r + 1] * inverse);
      } else {
        if (column < kValueSize) to[column] = narrow<X>(result[n][2 * r] * inverse);
        if (column + 1 < kValueSize) to[column + 1] = narrow<X>(result[n][2 * r + 1] * inverse);
      }
    }
  }
}
