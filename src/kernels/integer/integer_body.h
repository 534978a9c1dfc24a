// Products of integers; included once (after <algorithm>, <cstdint>, <cstring> and integer.h) per
// instruction set, inside a namespace of that set's own.

using Vector = uint32_t __attribute__((vector_size(64)));
constexpr int64_t kWidth = 16;

inline Vector load(const int32_t* from, int64_t n) {
  Vector v{};
  std::memcpy(&v, from, static_cast<size_t>(n) * sizeof(int32_t));
  return v;
}

/// R rows times up to two vectors of columns.
template <int R, bool kWhole>
void tile(const IntegerProduct& p, int64_t row, int64_t column) {
  const int64_t left = std::min(kWidth, p.columns - column),
                right = std::clamp<int64_t>(p.columns - column - kWidth, 0, kWidth);
  Vector sums[R][2] = {};
  const int32_t* a = p.a + row * p.a_row;
  const int32_t* b = p.b + column;
  for (int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += p.b_row) {
    const Vector b0 = load(b, kWhole ? kWidth : left),
                 b1 = load(b + (kWhole ? kWidth : left), kWhole ? kWidth : right);
    for (int r = 0; r < R; ++r) {
      const auto x = static_cast<uint32_t>(a[r * p.a_row]);
      sums[r][0] += x * b0;
      sums[r][1] += x * b1;
    }
  }
  for (int r = 0; r < R; ++r) {
    int32_t* c = p.c + (row + r) * p.c_row + column;
    std::memcpy(c, &sums[r][0], static_cast<size_t>(left) * sizeof(int32_t));
    std::memcpy(c + left, &sums[r][1], static_cast<size_t>(right) * sizeof(int32_t));
  }
}

template <int R>
void rows(const IntegerProduct& p, int64_t row) {
  int64_t column = 0;
  for (; column + 2 * kWidth <= p.columns; column += 2 * kWidth) tile<R, true>(p, row, column);
  if (column < p.columns) tile<R, false>(p, row, column);
}

inline void product(const IntegerProduct& p) {
  int64_t row = 0;
  for (; row + 6 <= p.rows; row += 6) rows<6>(p, row);
  for (; row + 2 <= p.rows; row += 2) rows<2>(p, row);
  for (; row < p.rows; ++row) rows<1>(p, row);
}
