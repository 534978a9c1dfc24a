// (x - mean) / sqrt(variance + epsilon) of each row; scale and bias are the epilogue's. RMS takes the mean as 0. Variance
// is that of the deviations from the mean, not a difference of sums.

#if WITH_STATISTICS
#define STATISTICS_PARAMETERS , Statistic* __restrict__ means, Statistic* __restrict__ inverses
#define STATISTICS_ARGUMENTS , means, inverses
#else
#define STATISTICS_PARAMETERS
#define STATISTICS_ARGUMENTS
#endif

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

__device__ inline void normalize_kept(const X* __restrict__ x, Y* __restrict__ y,
                                      Row row STATISTICS_PARAMETERS EPILOGUE_PARAMETERS) {
  Real v[kSteps][kVector];
  Real sum = 0;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s)) {
      load_located<XAt, kVector>(x, row.first + row.column(s), v[s]);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum += v[s][i];
    }
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
      epilogue<kVector>(v[s], at EPILOGUE_ARGUMENTS);
      store_located<YAt, kVector>(y, at, v[s]);
    }
  }
}

__device__ inline void normalize_streamed(const X* __restrict__ x, Y* __restrict__ y,
                                          Row row STATISTICS_PARAMETERS EPILOGUE_PARAMETERS) {
  Real mean = 0;
  if (!kRms) {
    Real sum = 0;
    for (int s = 0; s < kSteps; ++s) {
      if (!row.inside(s)) break;
      Real v[kVector];
      load_located<XAt, kVector>(x, row.first + row.column(s), v);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum += v[i];
    }
    mean = combine_group<kGroup>(sum, Sum()) / Real(kLength);
  }
  Real squares = 0;
  for (int s = 0; s < kSteps; ++s) {
    if (!row.inside(s)) break;
    Real v[kVector];
    load_located<XAt, kVector>(x, row.first + row.column(s), v);
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
    load_located<XAt, kVector>(x, at, v);
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = (v[i] - mean) * inverse;
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, v);
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, Y* __restrict__ y STATISTICS_PARAMETERS EPILOGUE_PARAMETERS) {
  begin_kernel();
  if constexpr (kKeep) normalize_kept(x, y, Row() STATISTICS_ARGUMENTS EPILOGUE_ARGUMENTS);
  else normalize_streamed(x, y, Row() STATISTICS_ARGUMENTS EPILOGUE_ARGUMENTS);
}
