// Normalization of the rows of A inside of the product that reads them (gemm/hopper.cu): where B is constant,
// sum over k of (a - mean) * inverse * b = inverse * (sum of a * b - mean * sum of b). The sums of B's columns come from
// the planner. While the matrix units multiply a tile, the threads that wait for them read the rows whose results they
// will hold. Elements are taken relative to the row's first one, which keeps the variance exact where means are large.

#ifdef NORMALIZES
#define NORMALIZED_PARAMETERS , const float* __restrict__ columns
#define NORMALIZED_ARGUMENTS , columns

__device__ inline void widen_pair(f16, u32 pair, float& a, float& b) {
  asm("{\n.reg .f16 low, high;\nmov.b32 {low, high}, %2;\ncvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}"
      : "=f"(a), "=f"(b) : "r"(pair));
}
__device__ inline void widen_pair(bf16, u32 pair, float& a, float& b) {
  a = __uint_as_float(pair << 16), b = __uint_as_float(pair & 0xffff0000u);
}

/// Sums of B over k for a thread's columns of a slab.
struct ColumnSums {
  float2 of[kSlab / 8];
  __device__ void fetch(int column, const float* columns) {
    if constexpr (!kRms) {
#pragma unroll
      for (int j = 0; j < kSlab / 8; ++j)
        of[j] = *reinterpret_cast<const float2*>(columns + column + j * 8 + threadIdx.x % 4 * 2);
    }
  }
};

/// Of a thread's rows of each part: its quarter warp's row, and the one 8 rows behind.
struct Moments {
  static constexpr bool kTaken = true;
  /// From the other blocks of a cluster: 16 bytes of each four threads.
  static constexpr int kBytes = (kSplits - 1) * (kConsumers / 4) * 16;
  float shift[kParts][2], sum[kParts][2], squares[kParts][2];

  /// 64 elements of each row. Four threads share a row, 16 bytes at a time; odd rows begin with the second half, so that
  /// eight threads meet no bank twice.
  __device__ void take(u32 tile, bool is_first) {
    const int lane = threadIdx.x % 32, swizzle = lane / 4 % 8, odd = swizzle % 2;
    const u32 rows = tile + (threadIdx.x / 32 % 4 * 16 + lane / 4) * 128;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const u32 row = rows + part * 8192 + half * 1024;
        if (is_first) {
          sum[part][half] = squares[part][half] = shift[part][half] = 0;
          float other;
          if constexpr (!kRms) widen_pair(A(), load_shared_word(row + swizzle * 16), shift[part][half], other);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int piece = lane % 4 + (i ^ odd) * 4;
          add(load_shared_piece(row + (piece ^ swizzle) * 16), shift[part][half], sum[part][half], squares[part][half]);
        }
      }
  }
  /// Of `count` elements: from here on `sum` is the mean, and `squares` those of the deviations from it.
  __device__ void finish(int count) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float &s = sum[part][half], &q = squares[part][half];
#pragma unroll
        for (int offset = 1; offset < 4; offset *= 2) {
          s += __shfl_xor_sync(0xffffffffu, s, offset);
          q += __shfl_xor_sync(0xffffffffu, q, offset);
        }
        if constexpr (!kRms) {
          const float mean = s / count;
          q = fmaxf(q - s * mean, 0.0f);
          s = shift[part][half] + mean;
        }
      }
  }
  /// Where blocks share k: to the others, counted by the barrier of the sums.
  __device__ void send(u32 received, u32 barrier, int rank) const {
    if (threadIdx.x % 4 != 0) return;
    const float mine[4] = {sum[0][0], squares[0][0], sum[0][1], squares[0][1]};
#pragma unroll
    for (int s = 0; s < kSplits; ++s) {
      if (s == rank) continue;
      const int slot = rank < s ? rank : rank - 1;
      send_to_block(address_in_block(received + (slot * (kConsumers / 4) + threadIdx.x / 4) * 16, s), mine,
                    address_in_block(barrier, s));
    }
  }
  /// All blocks' together, in the same order in each of them.
  __device__ void join(u32 received, int rank) {
    float count = 0, mean[2] = {}, all[2] = {};
#pragma unroll
    for (int s = 0; s < kSplits; ++s) {
      float part[4] = {sum[0][0], squares[0][0], sum[0][1], squares[0][1]};
      const int slot = s < rank ? s : s - 1;
      if (s != rank) load_shared(part, received + (slot * (kConsumers / 4) + threadIdx.x / 4) * 16);
      const float more = ((s + 1) * kBlocksK / kSplits - s * kBlocksK / kSplits) * kTileK;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float step = kRms ? 0.0f : part[half * 2] - mean[half];
        mean[half] += step * (more / (count + more));
        all[half] += part[half * 2 + 1] + step * step * (count * more / (count + more));
      }
      count += more;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) sum[0][half] = mean[half], squares[0][half] = all[half];
  }
  /// What the deviations are multiplied by, in place of their squares.
  __device__ void invert() {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        squares[part][half] = 1.0f / sqrtf(squares[part][half] / kK + float(kEpsilon));
  }
  __device__ void apply(float (&v)[2], const ColumnSums& columns, int part, int half, int j) const {
    if constexpr (!kRms) {
      v[0] -= sum[part][half] * columns.of[j].x;
      v[1] -= sum[part][half] * columns.of[j].y;
    }
    v[0] *= squares[part][half], v[1] *= squares[part][half];
  }

 private:
  __device__ static void add(const uint4& piece, float shift, float& sum, float& squares) {
    const u32 words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float a, b;
      widen_pair(A(), words[i], a, b);
      if constexpr (!kRms) {
        a -= shift, b -= shift;
        sum += a;
        sum += b;
      }
      squares = fmaf(a, a, squares);
      squares = fmaf(b, b, squares);
    }
  }
};
#else
#define NORMALIZED_PARAMETERS
#define NORMALIZED_ARGUMENTS

struct ColumnSums {
  __device__ void fetch(int) {}
};
struct Moments {
  static constexpr bool kTaken = false;
  static constexpr int kBytes = 0;
  __device__ void take(u32, bool) {}
  __device__ void finish(int) {}
  __device__ void send(u32, u32, int) const {}
  __device__ void join(u32, int) {}
  __device__ void invert() {}
  __device__ void apply(float (&)[2], const ColumnSums&, int, int, int) const {}
};
#endif
