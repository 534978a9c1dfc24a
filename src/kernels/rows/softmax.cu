// Softmax, or its logarithm, of each row.

// Maximum and sum of exponentials, relative to it.
struct Partial {
  Real top, sum;
};
struct Join {
  __device__ Partial operator()(Partial a, Partial b) const {
    const Real top = Max()(a.top, b.top);
    // Where nothing but -inf was seen there is nothing to add.
    const Real left = a.top == top ? a.sum : a.sum * exp(a.top - top);
    const Real right = b.top == top ? b.sum : b.sum * exp(b.top - top);
    return {top, left + right};
  }
};

__device__ inline void finish(Real (&v)[kVector], Real top, Real factor) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) v[i] = kLog ? v[i] - top - factor : exp(v[i] - top) * factor;
}

__device__ inline void softmax_kept(const X* __restrict__ x, Y* __restrict__ y, Row row EPILOGUE_PARAMETERS) {
  Real v[kSteps][kVector];
  Real top = -Real(kInfinity);
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s)) {
      load_located<XAt, kVector>(x, row.first + row.column(s), v[s]);
#pragma unroll
      for (int i = 0; i < kVector; ++i) top = Max()(top, v[s][i]);
    }
  }
  top = combine_group<kGroup>(top, Max());
  Real sum = 0;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s)) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (kLog) {
          sum += exp(v[s][i] - top);
        } else {
          v[s][i] = exp(v[s][i] - top);
          sum += v[s][i];
        }
      }
    }
  }
  sum = combine_group<kGroup>(sum, Sum());
  const Real factor = kLog ? log(sum) : Real(1) / sum;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (row.inside(s) && row.active) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) v[s][i] = kLog ? v[s][i] - top - factor : v[s][i] * factor;
      const Index at = row.first + row.column(s);
      epilogue<kVector>(v[s], at EPILOGUE_ARGUMENTS);
      store_located<YAt, kVector>(y, at, v[s]);
    }
  }
}

__device__ inline void softmax_streamed(const X* __restrict__ x, Y* __restrict__ y, Row row EPILOGUE_PARAMETERS) {
  Partial partial{-Real(kInfinity), Real(0)};
  for (int s = 0; s < kSteps; ++s) {
    if (!row.inside(s)) break;
    Real v[kVector];
    load_located<XAt, kVector>(x, row.first + row.column(s), v);
    Real top = v[0];
#pragma unroll
    for (int i = 1; i < kVector; ++i) top = Max()(top, v[i]);
    Partial more{top, Real(0)};
#pragma unroll
    for (int i = 0; i < kVector; ++i) more.sum += v[i] == top ? Real(1) : exp(v[i] - top);
    partial = Join()(partial, more);
  }
  const Real top = combine_group<kGroup>(partial.top, Max());
  const Real own = partial.top == top ? partial.sum : partial.sum * exp(partial.top - top);
  const Real sum = combine_group<kGroup>(own, Sum());
  // A row of nothing but -inf has no sum.
  const Real total = top == -Real(kInfinity) ? Real(kNan) : sum;
  const Real factor = kLog ? log(total) : Real(1) / total;
  if (!row.active) return;
  for (int s = 0; s < kSteps; ++s) {
    if (!row.inside(s)) break;
    Real v[kVector];
    const Index at = row.first + row.column(s);
    load_located<XAt, kVector>(x, at, v);
    finish(v, top, factor);
    epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
    store_located<YAt, kVector>(y, at, v);
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  begin_kernel();
  if constexpr (kKeep) softmax_kept(x, y, Row() EPILOGUE_ARGUMENTS);
  else softmax_streamed(x, y, Row() EPILOGUE_ARGUMENTS);
}
