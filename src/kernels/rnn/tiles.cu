// One step of a recurrence of 16-bit floats on tensor cores (sm_80): a block makes the gates of 16 units for kColumns
// elements of the batch, a warp 8 units for half of these; a thread has all gates of its cells. `from` and `to` hold h.

enum : int { kRows = 64, kThreads = 128, kDepth = 64, kPitch = kDepth + 8, kStages = 3 };
enum : int { kPieces = kDepth / 8 };                     // Of 16 bytes, of a row.
enum : int { kParts = kColumns / 32 };                   // Of 16 elements, of a warp.
enum : int { kStage = (kRows + kColumns) * kPitch };
enum : int { kChunks = (kHidden + kDepth - 1) / kDepth };

/// 8 units of one gate above those of the next one, as in 16 rows of tensor cores; zeros where there is no such gate.
__device__ inline void load_weights(X* to, const X* weights, int direction, int unit0, int k) {
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kPieces; i += kThreads) {
    const int row = i / kPieces, column = k + i % kPieces * 8, gate = row / 8 % 4, unit = unit0 + row / 32 * 8 + row % 8;
    const bool inside = gate < kGates && unit < kHidden && column < kHidden;
    copy_async(to + row * kPitch + i % kPieces * 8,
               weights + (inside ? (Index(direction * kGates + gate) * kHidden + unit) * kHidden + column : 0), inside);
  }
}
__device__ inline void load_states(X* to, const X* from, int direction, int batch0, int k) {
#pragma unroll
  for (int i = threadIdx.x; i < kColumns * kPieces; i += kThreads) {
    const int row = i / kPieces, column = k + i % kPieces * 8, batch = batch0 + row;
    const bool inside = batch < kBatch && column < kHidden;
    copy_async(to + row * kPitch + i % kPieces * 8,
               from + (inside ? (Index(direction) * kBatch + batch) * kHidden + column : 0), inside);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    kernel(const float* __restrict__ products, const X* __restrict__ weights, const X* __restrict__ bias,
           const X* __restrict__ peepholes, const Length* __restrict__ lengths, float* states, const X* __restrict__ from,
           X* __restrict__ to, X* __restrict__ y, X* __restrict__ last_h, X* __restrict__ last_c, i64 step) {
  extern __shared__ __align__(16) unsigned char raw[];
  X* stages = reinterpret_cast<X*>(raw);
  const int batch0 = blockIdx.y * kColumns, direction = blockIdx.z, unit0 = blockIdx.x * 16;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 2 * 32, wn = warp % 2 * (kColumns / 2);
  const auto rows_of = [&](int chunk) { return stages + chunk % kStages * kStage; };
  const auto start_weights = [&](int chunk) {
    if (chunk < kChunks) load_weights(rows_of(chunk), weights, direction, unit0, chunk * kDepth);
  };
  // While the step ahead ends.
  for (int chunk = 0; kWeightsConstant && chunk < kStages - 1; ++chunk) start_weights(chunk);
  begin_kernel();
  const auto start = [&](int chunk) {
    if (chunk < kChunks) {
      if (!kWeightsConstant || chunk >= kStages - 1) start_weights(chunk);
      load_states(rows_of(chunk) + kRows * kPitch, from, direction, batch0, chunk * kDepth);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int chunk = 0; chunk < kStages - 1; ++chunk) start(chunk);
  float sums[2][2 * kParts][4] = {};
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    start(chunk + kStages - 1);
    const X* rows = rows_of(chunk);
    const X* columns = rows + kRows * kPitch;
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      u32 a[2][4], b[kParts][4];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        load_matrices(a[i], shared_address(rows + (wm + i * 16 + lane % 16) * kPitch + k + lane / 16 * 8));
#pragma unroll
      for (int j = 0; j < kParts; ++j)
        load_matrices(b[j],
                      shared_address(columns + (wn + j * 16 + lane / 16 * 8 + lane % 8) * kPitch + k + lane / 8 % 2 * 8));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2 * kParts; ++j) multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
  const Stored stored = {products, bias, peepholes, lengths, y, last_h, last_c};
  const int unit = unit0 + wm / 4 + lane / 4;
#pragma unroll
  for (int j = 0; j < 2 * kParts; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int batch = batch0 + wn + j * 8 + lane % 4 * 2 + e;
      if (unit >= kHidden || batch >= kBatch) continue;
      float r[kGates];
#pragma unroll
      for (int g = 0; g < kGates; ++g) r[g] = sums[g / 2][j][g % 2 * 2 + e];
      const float h = advance_stored(stored, int(step), direction, batch, unit, states, states, r);
      to[(Index(direction) * kBatch + batch) * kHidden + unit] = narrow<X>(h);
    }
}
