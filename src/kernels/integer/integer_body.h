// Products of integers; included once (after <algorithm>, <cstdint>, <cstring> and integer.h) per
// instruction set, inside a namespace of that set's own.

using Vector = uint32_t __attribute__((vector_size(64)));
constexpr int64_t kWidth = 16;

inline Vector load(const int32_t* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

/// R rows times the panel.
template <int R> void tile(const IntegerProduct& p, int64_t row) {
  Vector sums[R][2] = {};
  const int32_t* a = p.a + row * p.a_row;
  const int32_t* b = p.b;
  for (int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += kIntegerPanel) {
    const Vector left = load(b), right = load(b + kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto x = static_cast<uint32_t>(a[r * p.a_row]);
      sums[r][0] += x * left;
      sums[r][1] += x * right;
    }
  }
  const int64_t first = std::min(kWidth, p.columns), second = p.columns - first;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    int32_t* c = p.c + (row + r) * p.c_row;
    std::memcpy(c, &sums[r][0], static_cast<size_t>(first) * sizeof(int32_t));
    std::memcpy(c + first, &sums[r][1], static_cast<size_t>(second) * sizeof(int32_t));
  }
}

inline void product(const IntegerProduct& p) {
  int64_t row = 0;
  for (; row + 6 <= p.rows; row += 6) tile<6>(p, row);
  for (; row + 2 <= p.rows; row += 2) tile<2>(p, row);
  for (; row < p.rows; ++row) tile<1>(p, row);
}
