// How quantized/hopper_runs.cu stores 16-bit results whose rows are no multiple of a run and thus begin anywhere. Threads that
// share a row give each other the elements that lie ahead of their first aligned piece of 16 bytes: all but the ends of a tile's
// rows leave in such pieces.
#if RAGGED_RUNS
static_assert(sizeof(Y) == 2 && kOperandSize == 0, "pairs without operands");

enum : int { kWords = kRun / 2, kUnit = 8, kUnitWords = kUnit / 2 };

/// A run that begins `shift` elements earlier, by those of the run ahead, whose last words are given.
__device__ inline void shift_run(u32 (&to)[kWords], const u32 (&ahead)[kUnitWords], const u32 (&own)[kWords], int shift) {
  const auto all = [&](int i) { return i < kUnitWords ? ahead[i < kUnitWords ? i : 0] : own[i < kUnitWords ? 0 : i - kUnitWords]; };
  const u32 selector = shift & 1 ? 0x5432 : 0x7654;
  u32 by_four[kWords + 2], by_two[kWords + 1];
#pragma unroll
  for (int i = 0; i < kWords + 2; ++i) by_four[i] = shift & 4 ? all(i) : all(i + 2);
#pragma unroll
  for (int i = 0; i < kWords + 1; ++i) by_two[i] = shift & 2 ? by_four[i] : by_four[i + 1];
#pragma unroll
  for (int i = 0; i < kWords; ++i) to[i] = __byte_perm(by_two[i], by_two[i + 1], selector);
}

/// Elements [begin, end) of a run, one by one.
__device__ inline void store_elements(Y* to, const u32 (&run)[kWords], int begin, int end) {
#pragma unroll
  for (int i = 0; i < kRun; ++i)
    if (i >= begin && i < end) reinterpret_cast<u16*>(to)[i] = u16(run[i / 2] >> i % 2 * 16);
}

/// Of one of a thread's two rows of a tile.
struct RaggedRow {
  Y* to;      ///< The first run.
  int shift;  ///< Elements of it behind an aligned place.
  bool exists;
  u32 last[kUnitWords] = {};  ///< Of the run before.

  __device__ RaggedRow(Y* y, const Place& at, int row)
      : to(y + row_of(at, row) * Index(kN) + run_of(at, 0)), exists(row_exists(at, row)) {
    shift = int(reinterpret_cast<u64>(to) / sizeof(Y) % kUnit);
  }
  __device__ void store(int n, const u32 (&run)[kWords]) {
    const int lane = threadIdx.x % 32, place = lane % 4;
    u32 ahead[kUnitWords], shifted[kWords];
#pragma unroll
    for (int i = 0; i < kUnitWords; ++i) {
      const u32 own = run[kWords - kUnitWords + i];
      ahead[i] = __shfl_sync(0xffffffffu, place == 3 ? last[i] : own, lane / 4 * 4 + (place + 3) % 4);
      last[i] = own;
    }
    shift_run(shifted, ahead, run, shift);
    if (!exists) return;
    const bool is_first = n == 0 && place == 0, is_last = n + kSlab == kOwn && place == 3;
    uint4* pieces = reinterpret_cast<uint4*>(to + n - shift);
#pragma unroll
    for (int i = 0; i < kRun / kUnit; ++i)
      if (i > 0 || !is_first || shift == 0)
        pieces[i] = make_uint4(shifted[i * 4], shifted[i * 4 + 1], shifted[i * 4 + 2], shifted[i * 4 + 3]);
    if (is_first && shift > 0) store_elements(to, run, 0, kUnit - shift);
    if (is_last) store_elements(to + n, run, kRun - shift, kRun);
  }
};

__device__ inline void store_tile(const Accumulator (&sums)[kOwn / 2], SlabOperands& next, const RowTerms& rows, u32, Y* y,
                                  const Place& at ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  RaggedRow mine[2] = {{y, at, int(threadIdx.x % 32 / 4)}, {y, at, int(threadIdx.x % 32 / 4 + 8)}};
  const bool is_whole = at.column + kOwn <= kN;
  const auto store = [&](int half, int n, const float (&v)[kRun]) {
    u32 run[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) run[i] = pair_of(Y(), v[2 * i], v[2 * i + 1]);
    if (is_whole) mine[half].store(n, run);
    else if (mine[half].exists) store_elements(mine[half].to + n, run, 0, kN - run_of(at, n));
  };
  each_run(sums, next, rows, at, store ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
}
#endif
