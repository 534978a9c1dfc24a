#include "kernels/conv/mixed_products.h"
#include "kernels/conv/mixed_winograd_body.h"

namespace tenon::cpu {
namespace {

/// Points 0, 1 and -1 of even places; the last row of tiles, if a smaller one, is without -1.
struct Near {
  static constexpr bool comes_up(int a, int b, int c) { return a > 0 && a == b && c <= b; }
  template <class A, class B, class C>
  [[gnu::always_inline]] static void add(const float* w, int64_t row, A a, B b, C c) {
    const Columns first = Columns::load(w), last = Columns::load(w + 2 * row);
    a(first);
    b(first + last);
    c(first - last);
  }
};

/// Points 2 and infinity of even places.
struct Far {
  static constexpr bool comes_up(int a, int b, int c) { return b > 0 && a <= b && c == 0; }
  template <class A, class B, class C>
  [[gnu::always_inline]] static void add(const float* w, int64_t row, A a, B b, C) {
    const Columns last = Columns::load(w + 2 * row);
    b(last);
    a(last + last + Columns::load(w));
  }
};

/// Odd places: the kernel's middle row.
struct Odd {
  static constexpr bool comes_up(int a, int b, int c) { return a > 0 && b == 0 && c == 0; }
  template <class A, class B, class C>
  [[gnu::always_inline]] static void add(const float* w, int64_t row, A a, B, C) {
    a(Columns::load(w + row));
  }
};

MixedProductFunction product(int set, const int* rows) {
  if (set == 0) return MixedProducts<Near, 5, 5, 5>::find(rows[0], rows[1], rows[2]);
  if (set == 1) return MixedProducts<Far, 7, 7, 1>::find(rows[0], rows[1], 0);
  return MixedProducts<Odd, 13, 1, 1>::find(rows[0], 0, 0);
}

void weights(const MixedWeights& t) {
  constexpr int64_t kRow = kMixedPanel, kForm = kMixedDepth * 3 * kRow;
  const float* plain = t.plain;
  float* to = t.to;
  for (int64_t k = 0; k < t.k; ++k) {
    fetch_lines(t.fetch + k * t.fetch_step, t.fetch_step);
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i, plain += 3 * kRow, to += kRow)
#pragma GCC unroll 2
      for (int n = 0; n < kRow; n += V::kWidth) {
        const V first = V::load(plain + n), last = V::load(plain + 2 * kRow + n);
        (first + last).store(to + n);
        (first - last).store(to + kForm + n);
        (first + last + last).store(to + 2 * kForm + n);
      }
  }
}

}  // namespace

constinit const MixedFunctions kMixedStridedAvx512 = {
    .classes = {0, 0, 1, 2, 0, kMixedOdd},
    .taps = {0, -1, -1, -1, 2, 1},
    .sets = {{{0, 1, 2}, 3, 4}, {{3, 4}, 2, 6}, {{5}, 1, 12}},
    .set_count = 3,
    .input = MixedTransforms<V, 2>::input,
    .output = MixedTransforms<V, 2>::output,
    .weights = weights,
    .product = product};

}  // namespace tenon::cpu
