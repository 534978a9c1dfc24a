// State of a reduction over the elements seen so far. kFunction is ReduceFunction's number, or kArgument for the index
// of the largest (kLargest) or smallest element. REDUCE_PAIR is 1 for an index, 2 for kLogSumExp, else 0. Sums are
// added in a fixed order.

enum { kSum, kProd, kMax, kMin, kMean, kL1, kL2, kLogSum, kLogSumExp, kSumSquare, kArgument };

struct State {
  Accumulator value;
#if REDUCE_PAIR
  Second second;  // Index of the value, or the sum of exponentials relative to it.
#endif
};

__device__ inline Accumulator lowest() {
  if constexpr (kRealAccumulator) return -Accumulator(kInfinity);
  else return Accumulator(kLowest);
}
__device__ inline Accumulator highest() {
  if constexpr (kRealAccumulator) return Accumulator(kInfinity);
  else return Accumulator(kHighest);
}

__device__ inline State start_state() {
  State s;
#if REDUCE_PAIR
  s.value = kFunction == kLogSumExp || kLargest ? lowest() : highest();
  s.second = kFunction == kArgument ? Second(-1) : Second(0);
#else
  s.value = kFunction == kProd  ? Accumulator(1)
            : kFunction == kMax ? lowest()
            : kFunction == kMin ? highest()
                                : Accumulator(0);
#endif
  return s;
}

// Whether b comes before a among the candidates for an index: NaN first, then the order of values, then of indices.
template <class T, class I>
__device__ inline bool precedes(T b, I b_index, T a, I a_index) {
  if (a_index < 0) return b_index >= 0;
  if (b_index < 0) return false;
  if (b == a || (b != b && a != a)) return kLastIndex ? b_index > a_index : b_index < a_index;
  if (a != a) return false;
  if (b != b) return true;
  return kLargest ? b > a : b < a;
}

struct Merge {
  __device__ State operator()(State a, State b) const {
#if REDUCE_PAIR == 1
    return precedes(b.value, b.second, a.value, a.second) ? b : a;
#elif REDUCE_PAIR == 2
    State s;
    s.value = a.value > b.value || a.value != a.value ? a.value : b.value;
    const Second left = a.value == s.value ? a.second : a.second * exp(a.value - s.value);
    const Second right = b.value == s.value ? b.second : b.second * exp(b.value - s.value);
    s.second = left + right;
    return s;
#else
    State s;
    if constexpr (kFunction == kProd) s.value = a.value * b.value;
    else if constexpr (kFunction == kMax) s.value = a.value > b.value || a.value != a.value ? a.value : b.value;
    else if constexpr (kFunction == kMin) s.value = a.value < b.value || a.value != a.value ? a.value : b.value;
    else s.value = a.value + b.value;
    return s;
#endif
  }
};

template <class T>
__device__ inline State state_of(T x, i64 index) {
  State s;
  const Accumulator v = Accumulator(x);
#if REDUCE_PAIR
  s.value = v;
  s.second = kFunction == kArgument ? Second(index) : Second(1);
#else
  if constexpr (kFunction == kL1) s.value = v < Accumulator(0) ? -v : v;
  else if constexpr (kFunction == kL2 || kFunction == kSumSquare) s.value = v * v;
  else s.value = v;
#endif
  return s;
}

__device__ inline Real finish_state(State s) {
#if REDUCE_PAIR == 1
  return Real(s.second);
#elif REDUCE_PAIR == 2
  return Real(s.value == -Accumulator(kInfinity) ? s.value : s.value + log(s.second));
#else
  if constexpr (kFunction == kMean) return Real(s.value / Accumulator(kCount));
  else if constexpr (kFunction == kL2) return Real(sqrt(Root(s.value)));
  else if constexpr (kFunction == kLogSum) return Real(log(Root(s.value)));
  else return Real(s.value);
#endif
}

__device__ inline State shuffle_state(State s, int step) {
  s.value = __shfl_xor_sync(0xffffffffu, s.value, step);
#if REDUCE_PAIR
  s.second = __shfl_xor_sync(0xffffffffu, s.second, step);
#endif
  return s;
}
