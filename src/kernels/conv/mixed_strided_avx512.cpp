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
  transform_weights(t, [] [[gnu::always_inline]] (V w0, V, V w2, float* to) {
    (w0 + w2).store(to);
    (w0 - w2).store(to + kMixedForm);
    (w0 + w2 + w2).store(to + 2 * kMixedForm);
  });
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
