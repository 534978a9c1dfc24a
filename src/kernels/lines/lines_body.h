// Inner loops over lines; included once (after <algorithm>, <cmath>, <cstdint> and lines.h) per
// instruction set, inside a namespace of that set's own. The loops over neighbouring lines are
// vectorized by the compiler.

inline float widen(float value) {
  return value;
}
inline float widen(uint16_t value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value) << 16);
}

/// Signs are such that the largest is wanted; NaN counts as larger than all.
template <class T, bool kLast>
void places_of(const T* x, int64_t extent, int64_t step, int64_t lines, float sign,
               int64_t* places) {
  float best[kLinesTogether];
  int32_t place[kLinesTogether] = {};
  for (int64_t c = 0; c < kLinesTogether; ++c) best[c] = c < lines ? sign * widen(x[c]) : 0.0f;
  for (int64_t i = 1; i < extent; ++i) {
    const T* row = x + i * step;
    const auto here = static_cast<int32_t>(i);
    for (int64_t c = 0; c < lines; ++c) {
      const float value = sign * widen(row[c]);
      const bool none = value != value, champion_is_none = best[c] != best[c];
      const bool better =
          none ? (kLast || !champion_is_none) : (kLast ? value >= best[c] : value > best[c]);
      best[c] = better ? value : best[c];
      place[c] = better ? here : place[c];
    }
  }
  for (int64_t c = 0; c < lines; ++c) places[c] = place[c];
}

inline void largest(bool bf16, const void* x, int64_t extent, int64_t step, int64_t lines,
                    bool largest, bool last, int64_t* places) {
  const float sign = largest ? 1.0f : -1.0f;
  const auto run = [&](const auto* from) {
    last ? places_of<std::remove_cvref_t<decltype(*from)>, true>(from, extent, step, lines, sign,
                                                                 places)
         : places_of<std::remove_cvref_t<decltype(*from)>, false>(from, extent, step, lines, sign,
                                                                  places);
  };
  bf16 ? run(static_cast<const uint16_t*>(x)) : run(static_cast<const float*>(x));
}

template <class T> int64_t first_of(const T* x, int64_t from, int64_t n, float limit) {
  for (; from + kLinesTogether <= n; from += kLinesTogether) {
    int any = 0;
    for (int64_t c = 0; c < kLinesTogether; ++c) any |= !(widen(x[from + c]) <= limit);
    if (any != 0) break;
  }
  while (from < n && widen(x[from]) <= limit) ++from;
  return from;
}

inline int64_t first_above(bool bf16, const void* x, int64_t from, int64_t n, float limit) {
  return bf16 ? first_of(static_cast<const uint16_t*>(x), from, n, limit)
              : first_of(static_cast<const float*>(x), from, n, limit);
}
