// A whole recurrence of 32-bit floats in one launch (sm_90): kCluster blocks share the hidden units of kTile elements of
// the batch in one direction. Each keeps its rows of the recurrent weights in registers for all steps, and sends its units'
// new states to all blocks' shared memory.

enum : int { kUnits = kHidden / kCluster, kRows = kGates * kUnits };
enum : int { kPacks = kHidden / (kLanes * 4) };  // Of a row, a thread.
#define kTiles ((kBatch + kTile - 1) / kTile)

__device__ inline u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
__device__ inline void store_remote(float* own, int rank, float value) {
  u32 remote;
  const u32 local = static_cast<u32>(__cvta_generic_to_shared(own));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(remote), "f"(value) : "memory");
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    kernel(const float* __restrict__ products, const X* __restrict__ weights, const X* __restrict__ bias,
           const X* __restrict__ first_h, const X* __restrict__ first_c, const X* __restrict__ peepholes,
           const Length* __restrict__ lengths, X* __restrict__ y, X* __restrict__ last_h, X* __restrict__ last_c) {
  begin_kernel();
  __shared__ __align__(16) float states[2][kTile][kHidden];
  __shared__ float cells[kTile][kUnits];
  __shared__ float sums[kTile][kRows];
  const int rank = cluster_rank(), number = blockIdx.x / kCluster;
  const int direction = number / kTiles, batch0 = number % kTiles * kTile;
  const int row = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int first_unit = rank * kUnits;
  float4 own[kPacks];
  {
    const int gate = row / kUnits, unit = first_unit + row % kUnits;
    const X* from = weights + (Index(direction * kGates + gate) * kHidden + unit) * kHidden;
#pragma unroll
    for (int j = 0; j < kPacks; ++j) own[j] = *reinterpret_cast<const float4*>(from + (j * kLanes + lane) * 4);
  }
  for (int i = threadIdx.x; i < kTile * kHidden; i += kBlock) {
    const int b = i / kHidden, unit = i % kHidden;
    const bool inside = batch0 + b < kBatch;
    states[0][b][unit] = inside ? optional(first_h, state_index(direction, batch0 + b, unit)) : 0.0f;
    states[1][b][unit] = states[0][b][unit];
    if (unit >= first_unit && unit < first_unit + kUnits)
      cells[b][unit - first_unit] = inside ? optional(first_c, state_index(direction, batch0 + b, unit)) : 0.0f;
  }
  cluster_sync();
  for (int step = 0; step < kStepCount; ++step) {
    const int now = step % 2;
    // The cells' operands are on their way while the products are made.
    float x[kCellRounds][kGates];
#pragma unroll
    for (int round = 0; round < kCellRounds; ++round) {
      const int i = round * kBlock + threadIdx.x, b = i / kUnits, unit = first_unit + i % kUnits;
      if (i >= kTile * kUnits || batch0 + b >= kBatch) continue;
      const int length = length_of(lengths, batch0 + b);
      const int t = runs_backward(direction) ? length - 1 - step : step;
      if (step >= length) continue;
#pragma unroll
      for (int g = 0; g < kGates; ++g)
        x[round][g] = products[product_index(t, batch0 + b, direction) + g * kHidden + unit];
    }
#pragma unroll
    for (int b = 0; b < kTile; ++b) {
      float sum[2] = {0, 0};
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
        const float4 h = *reinterpret_cast<const float4*>(&states[now][b][(j * kLanes + lane) * 4]);
        sum[0] += own[j].x * h.x;
        sum[1] += own[j].y * h.y;
        sum[0] += own[j].z * h.z;
        sum[1] += own[j].w * h.w;
      }
      float total = sum[0] + sum[1];
#pragma unroll
      for (int offset = kLanes / 2; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
      if (lane == 0) sums[b][row] = total;
    }
    __syncthreads();
#pragma unroll
    for (int round = 0; round < kCellRounds; ++round) {
      const int i = round * kBlock + threadIdx.x, b = i / kUnits, unit = first_unit + i % kUnits;
      if (i >= kTile * kUnits || batch0 + b >= kBatch) continue;
      const int length = length_of(lengths, batch0 + b);
      const int t = runs_backward(direction) ? length - 1 - step : step;
      CellState state = {states[now][b][unit], cells[b][unit - first_unit]};
      if (step < length) {
        float input_bias[kGates], r[kGates], peephole[3];
        load_biases(bias, direction, unit, input_bias, r);
#pragma unroll
        for (int g = 0; g < kGates; ++g) {
          x[round][g] += input_bias[g];
          r[g] += sums[b][g * kUnits + unit - first_unit];
        }
#pragma unroll
        for (int p = 0; p < 3; ++p) peephole[p] = optional(peepholes, (direction * 3 + p) * Index(kHidden) + unit);
        state = advance_cell(direction, x[round], r, peephole, state);
        cells[b][unit - first_unit] = state.c;
        y[output_index(t, batch0 + b, direction, unit)] = narrow<X>(state.h);
      } else {
        y[output_index(step, batch0 + b, direction, unit)] = narrow<X>(0.0f);
      }
#pragma unroll
      for (int other = 0; other < kCluster; ++other) store_remote(&states[1 - now][b][unit], other, state.h);
      if (step == kStepCount - 1) {
        if (last_h != nullptr) last_h[state_index(direction, batch0 + b, unit)] = narrow<X>(state.h);
        if (last_c != nullptr) last_c[state_index(direction, batch0 + b, unit)] = narrow<X>(state.c);
      }
    }
    cluster_sync();
  }
}
