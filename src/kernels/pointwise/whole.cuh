// Integers with the host's rules for the scalar functions: results wrap, division by zero gives 0; and the rules of casts.

template <class V>
struct Whole {
  V value;

  __device__ Whole() : value(0) {}
  __device__ Whole(V v) : value(v) {}
  __device__ static Whole narrow(u64 v) { return Whole(V(v)); }
  __device__ u64 wide() const { return u64(value); }
};

#define WHOLE_OPERATOR(op)                                                  \
  template <class V>                                                        \
  __device__ inline Whole<V> operator op(Whole<V> x, Whole<V> y) {          \
    return Whole<V>::narrow(x.wide() op y.wide());                          \
  }
WHOLE_OPERATOR(+)
WHOLE_OPERATOR(-)
WHOLE_OPERATOR(*)
WHOLE_OPERATOR(&)
WHOLE_OPERATOR(|)
WHOLE_OPERATOR(^)
#undef WHOLE_OPERATOR
#define WHOLE_COMPARISON(op)                                    \
  template <class V>                                            \
  __device__ inline bool operator op(Whole<V> x, Whole<V> y) {  \
    return x.value op y.value;                                  \
  }
WHOLE_COMPARISON(<)
WHOLE_COMPARISON(>)
WHOLE_COMPARISON(<=)
WHOLE_COMPARISON(>=)
WHOLE_COMPARISON(==)
WHOLE_COMPARISON(!=)
#undef WHOLE_COMPARISON

template <class V>
__device__ inline Whole<V> operator-(Whole<V> x) {
  return Whole<V>::narrow(0 - x.wide());
}
template <class V>
__device__ inline Whole<V> operator~(Whole<V> x) {
  return Whole<V>::narrow(~x.wide());
}
template <class V>
__device__ inline Whole<V> operator/(Whole<V> x, Whole<V> y) {
  if (y.value == 0) return Whole<V>();
  if (V(-1) < V(0) && y.value == V(-1)) return -x;
  return Whole<V>(V(x.value / y.value));
}
template <class V>
__device__ inline Whole<V> trunc_mod(Whole<V> x, Whole<V> y) {
  return y.value == 0 ? Whole<V>() : x - x / y * y;
}
template <class V>
__device__ inline Whole<V> floor_mod(Whole<V> x, Whole<V> y) {
  const Whole<V> remainder = trunc_mod(x, y);
  const bool other_sign = (remainder.value < V(0)) != (y.value < V(0));
  return remainder.value != 0 && other_sign ? remainder + y : remainder;
}
template <class V>
__device__ inline Whole<V> floor_div(Whole<V> x, Whole<V> y) {
  return (x - floor_mod(x, y)) / y;
}
template <class V>
__device__ inline Whole<V> pow(Whole<V> x, Whole<V> y) {
  if (y.value < V(0)) {
    if (x.value == V(1)) return x;
    if (V(x.value + V(1)) == V(0)) return (y.wide() & 1) != 0 ? x : -x;
    return Whole<V>();
  }
  Whole<V> result(V(1));
  for (u64 exponent = y.wide(); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * x;
    x = x * x;
  }
  return result;
}
template <class V>
__device__ inline bool shifts_out(Whole<V> y) {
  return y.value < V(0) || y.wide() >= sizeof(V) * 8;
}
template <class V>
__device__ inline Whole<V> shift_left(Whole<V> x, Whole<V> y) {
  return shifts_out(y) ? Whole<V>() : Whole<V>::narrow(x.wide() << y.value);
}
template <class V>
__device__ inline Whole<V> shift_right(Whole<V> x, Whole<V> y) {
  if (shifts_out(y)) return Whole<V>(x.value < V(0) ? V(-1) : V(0));
  return Whole<V>(V(x.value >> y.value));
}

template <class T>
__device__ inline T floor_div(T x, T y) {
  return floor(x / y);
}
template <class T>
__device__ inline T trunc_mod(T x, T y) {
  return fmod(x, y);
}
template <class T>
__device__ inline T floor_mod(T x, T y) {
  const T remainder = fmod(x, y);
  return remainder != T(0) && (remainder < T(0)) != (y < T(0)) ? remainder + y : remainder;
}

// Limits of integers, for casts from real numbers: truncated, saturated, NaN as 0.
template <class V, class R>
__device__ inline V cast_real(R value) {
  constexpr bool kSigned = V(-1) < V(0);
  constexpr int kBits = sizeof(V) * 8 - (kSigned ? 1 : 0);
  constexpr V kHigh = V(~u64(0) >> (64 - kBits));
  constexpr V kLow = kSigned ? V(-kHigh - V(1)) : V(0);
  const double v = double(value);
  if (v != v) return V(0);
  if (v <= double(kLow)) return kLow;
  if (v >= double(kHigh)) return kHigh;
  return V(v);
}
