// (x - mean) / sqrt(variance + epsilon) of each row; scale and bias are the epilogue's. RMS takes the mean as 0. Variance
// is that of the deviations from the mean, not a difference of sums. load_input(at, v, store) is the planner's: kVector
// elements of what is normalized, which may be a sum and, with `store`, be kept as a result of its own. WITH_BYTES: the
// result is quantized, too, or only that (kGivesReals).

#if WITH_STATISTICS
#define STATISTICS_PARAMETERS , Statistic* __restrict__ means, Statistic* __restrict__ inverses
#define STATISTICS_ARGUMENTS , means, inverses
#elif WITH_BYTES
#define STATISTICS_PARAMETERS , Bytes* __restrict__ bytes
#define STATISTICS_ARGUMENTS , bytes
#else
#define STATISTICS_PARAMETERS
#define STATISTICS_ARGUMENTS
#endif

#if WITH_BYTES
/// Integers of four bytes at a time take no conversions of numbers, which are 16 a cycle.
template <int N>
__device__ inline void store_bytes(Bytes* __restrict__ bytes, Index at, const Real (&v)[N]) {
  float q[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    q[i] = kByReciprocal ? quotient(v[i], kScale, kInverse) : __fdiv_rn(v[i], float(kScale));
    // NaN becomes 0.
    if constexpr (kByteIntegers) q[i] = q[i] != q[i] ? 0.0f : (float(kByteZero) != 0 ? rintf(q[i]) + float(kByteZero) : q[i]);
  }
  if constexpr (N % 4 == 0) {
    Pack<u32, N / 4> words;
#pragma unroll
    for (int i = 0; i < N; i += 4) words.v[i / 4] = byte_word(Bytes(), q + i);
    store_pack<N / 4>(reinterpret_cast<u32*>(bytes + locate<BytesAt>(at)), words);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if constexpr (kByteIntegers) q[i] = fminf(fmaxf(rintf(q[i]), float(kByteLow)), float(kByteHigh));
    store_located<BytesAt, N>(bytes, at, q);
  }
}
#endif

__device__ inline void store_row(Y* __restrict__ y, Index at, const Real (&v)[kVector] STATISTICS_PARAMETERS) {
#if WITH_BYTES
  if constexpr (kGivesReals) store_located<YAt, kVector>(y, at, v);
  store_bytes(bytes, at, v);
#else
  store_located<YAt, kVector>(y, at, v);
#endif
}

__device__ inline Real inverse_of(Real squares) {
  return Real(1) / sqrt(squares / Real(kLength) + Real(kEpsilon));
}

__device__ inline void store_statistics(Row row, Real mean, Real inverse STATISTICS_PARAMETERS) {
#if WITH_STATISTICS
  if (!row.active || row.lane != 0) return;
  const Index number = row.first / Index(kLength);
  if (means != nullptr) means[number] = narrow<Statistic>(mean);
  if (inverses != nullptr) inverses[number] = narrow<Statistic>(inverse);
#endif
}

/// Scale and bias are on their way while sums are taken, where registers are enough.
enum : bool { kFetchesAhead = kSteps * kVector <= 32 };

__device__ inline void normalize_kept(Y* __restrict__ y,
                                      Row row INPUT_PARAMETERS STATISTICS_PARAMETERS EPILOGUE_PARAMETERS) {
  Real v[kSteps][kVector];
  EpilogueOperands<kVector> operands[kFetchesAhead ? kSteps : 1];
  Real sum = 0;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s)) {
      load_input(row.first + row.column(s), v[s], row.active INPUT_ARGUMENTS);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum += v[s][i];
    }
  }
  if constexpr (kFetchesAhead) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      if (row.inside(s) && row.active) fetch_epilogue<kVector>(operands[s], row.first + row.column(s) EPILOGUE_ARGUMENTS);
  }
  const Real mean = kRms ? Real(0) : combine_group<kGroup>(sum, Sum()) / Real(kLength);
  Real squares = 0;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s)) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) squares += (v[s][i] - mean) * (v[s][i] - mean);
    }
  }
  const Real inverse = inverse_of(combine_group<kGroup>(squares, Sum()));
  store_statistics(row, mean, inverse STATISTICS_ARGUMENTS);
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s) && row.active) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) v[s][i] = (v[s][i] - mean) * inverse;
      const Index at = row.first + row.column(s);
      if constexpr (kFetchesAhead) apply_epilogue<kVector>(v[s], operands[s]);
      else epilogue<kVector>(v[s], at EPILOGUE_ARGUMENTS);
      store_row(y, at, v[s] STATISTICS_ARGUMENTS);
    }
  }
}

__device__ inline void normalize_streamed(Y* __restrict__ y,
                                          Row row INPUT_PARAMETERS STATISTICS_PARAMETERS EPILOGUE_PARAMETERS) {
  Real mean = 0;
  if (!kRms) {
    Real sum = 0;
    for (int s = 0; s < kSteps; ++s) {
      if (!row.inside(s)) break;
      Real v[kVector];
      load_input(row.first + row.column(s), v, false INPUT_ARGUMENTS);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum += v[i];
    }
    mean = combine_group<kGroup>(sum, Sum()) / Real(kLength);
  }
  Real squares = 0;
  for (int s = 0; s < kSteps; ++s) {
    if (!row.inside(s)) break;
    Real v[kVector];
    load_input(row.first + row.column(s), v, false INPUT_ARGUMENTS);
#pragma unroll
    for (int i = 0; i < kVector; ++i) squares += (v[i] - mean) * (v[i] - mean);
  }
  const Real inverse = inverse_of(combine_group<kGroup>(squares, Sum()));
  store_statistics(row, mean, inverse STATISTICS_ARGUMENTS);
  if (!row.active) return;
  for (int s = 0; s < kSteps; ++s) {
    if (!row.inside(s)) break;
    Real v[kVector];
    const Index at = row.first + row.column(s);
    load_input(at, v, false INPUT_ARGUMENTS);
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = (v[i] - mean) * inverse;
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_row(y, at, v STATISTICS_ARGUMENTS);
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(Y* __restrict__ y INPUT_PARAMETERS STATISTICS_PARAMETERS EPILOGUE_PARAMETERS) {
  prefetch_constants(0 EPILOGUE_ARGUMENTS);
  begin_kernel();
  if constexpr (kKeep) normalize_kept(y, Row() INPUT_ARGUMENTS STATISTICS_ARGUMENTS EPILOGUE_ARGUMENTS);
  else normalize_streamed(y, Row() INPUT_ARGUMENTS STATISTICS_ARGUMENTS EPILOGUE_ARGUMENTS);
}
