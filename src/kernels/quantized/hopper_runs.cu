// The epilogue of gemm/hopper.cu without a way through shared memory: columns of packed weights are in such an order that a
// thread has kRun results of each of its rows that lie beside each other.
enum : int { kSlab = kOwn % 64 == 0 && !NARROW_RUNS ? 64 : 32, kRun = kSlab / 4, kPitch = 0 };
static_assert(kOwn % 32 == 0 && (RAGGED_RUNS || kN % kRun == 0), "whole runs");

// Bytes of operands for each result; slabs of them that are on their way at a time, in up to 40 registers.
#define OPERAND_SIZE(i, T) +int(sizeof(T))
enum : int { kSlabs = kOwn / kSlab, kOperandSize = 0 EPILOGUE_EACH(OPERAND_SIZE) };
enum : int { kMostSlabs = kOperandSize == 0 ? 1 : 80 / (kRun * kOperandSize) };
enum : int { kAheadSlabs = kTurns > 1 || kMostSlabs < 1 ? 1 : (kMostSlabs < kSlabs ? kMostSlabs : kSlabs) };

/// Scales and biases of the first slab come ahead of the products, too, where registers are many: where a block has one tile,
/// nothing else hides their way.
enum : bool { kColumnsAhead = kTurns == 1 && kSlabs <= 2 };
struct SlabOperands {
  EpilogueOperands<kRun> rows[kAheadSlabs][2];
  ColumnTerms<kRun> columns;
};
__device__ inline int run_of(const Place& at, int n) { return at.column + n + threadIdx.x % 4 * kRun; }
/// Runs behind the last column read what it reads.
__device__ inline Index element_of(const Place& at, int row, int column) {
  return row_of(at, row) * Index(kN) + Index(column < kN ? column : kN - kRun);
}
__device__ inline void fetch_rows_of_slab(EpilogueOperands<kRun> (&to)[2], const Place& at,
                                          int n ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    [[maybe_unused]] const Index element = element_of(at, threadIdx.x % 32 / 4 + half * 8, run_of(at, n));
#define FETCH_RUN(i, T)                                             \
  fetch_run<Epilogue##i##At, kRun>(e##i, element, to[half].o##i, \
                                   POLICY_OF(kAddend##i, ADDENDS_ALONE));
    EPILOGUE_EACH(FETCH_RUN)
  }
}
__device__ inline void fetch_slab(SlabOperands& to, const Place& at, int ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  if constexpr (kColumnsAhead) to.columns.fetch_run(run_of(at, 0) ROWS_ARGUMENTS);
#pragma unroll
  for (int i = 0; i < kAheadSlabs; ++i) fetch_rows_of_slab(to.rows[i], at, i * kSlab ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
}

/// Calls take(half, n, v) for each run of a thread: its results of a row from column run_of(at, n) on.
template <class Take>
__device__ inline void each_run(const Accumulator (&sums)[kOwn / 2], SlabOperands& next, const RowTerms& rows, const Place& at,
                                const Take& take ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
#pragma unroll
  for (int n = 0; n < kOwn; n += kSlab) {
    EpilogueOperands<kRun>(&slot)[2] = next.rows[n / kSlab % kAheadSlabs];
    if (!kFetchesAhead) fetch_rows_of_slab(slot, at, n ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    const EpilogueOperands<kRun> now[2] = {slot[0], slot[1]};
    if (kFetchesAhead && n + kAheadSlabs * kSlab < kOwn)
      fetch_rows_of_slab(slot, at, n + kAheadSlabs * kSlab ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    ColumnTerms<kRun> columns = next.columns;
    if (!kColumnsAhead || n > 0) columns.fetch_run(run_of(at, n) ROWS_ARGUMENTS);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float v[kRun];
#pragma unroll
      for (int j = 0; j < kSlab / 8; ++j) {
        const int s = (n + j * 8) / 2 + half * 2;
        float pair[2];
        rows.begin(pair, sums[s], sums[s + 1], columns, half, j);
        v[2 * j] = pair[0], v[2 * j + 1] = pair[1];
      }
      apply_epilogue<kRun>(v, now[half]);
      take(half, n, v);
    }
  }
}
#if !RAGGED_RUNS
__device__ inline void store_tile(const Accumulator (&sums)[kOwn / 2], SlabOperands& next, const RowTerms& rows, u32, Y* y,
                                  const Place& at ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  const auto store = [&](int half, int n, const float (&v)[kRun]) {
    const int row = threadIdx.x % 32 / 4 + half * 8;
    if (row_exists(at, row) && run_of(at, n) < kN) store_run<kRun>(y, element_of(at, row, run_of(at, n)), v);
  };
  each_run(sums, next, rows, at, store ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
}
#endif
