#include "kernels/conv/mixed_products.h"
#include "kernels/conv/mixed_winograd_body.h"

namespace tenon::cpu {
namespace {

/// Points 0, 1 and -1.
struct Near {
  static constexpr bool comes_up(int a, int b, int c) { return a > 0 && a == b && b == c; }
  template <class A, class B, class C>
  [[gnu::always_inline]] static void add(const float* w, int64_t row, A a, B b, C c) {
    const Columns first = Columns::load(w);
    a(first);
    const Columns outer = first + Columns::load(w + 2 * row), middle = Columns::load(w + row);
    b(outer + middle);
    c(outer - middle);
  }
};

/// Points 2, -2 and infinity. The last row of tiles, if a smaller one, is without -2, or without
/// both.
struct Far {
  static constexpr bool comes_up(int a, int b, int c) {
    return c > 0 && a <= c && b <= a && (a == c || a == b);
  }
  template <class A, class B, class C>
  [[gnu::always_inline]] static void add(const float* w, int64_t row, A a, B b, C c) {
    Columns last = Columns::load(w + 2 * row);
    c(last);
    last = last + last;
    const Columns outer = last + last + Columns::load(w);
    Columns middle = Columns::load(w + row);
    middle = middle + middle;
    a(outer + middle);
    b(outer - middle);
  }
};

MixedProductFunction product(int set, const int* rows) {
  const int a = rows[0], b = rows[1], c = rows[2];
  return set == 0 ? MixedProducts<Near, 5, 5, 5>::find(a, b, c)
                  : MixedProducts<Far, 5, 5, 5>::find(a, b, c);
}

void weights(const MixedWeights& t) {
  transform_weights(t, [] [[gnu::always_inline]] (V w0, V w1, V w2, float* to) {
    const V one = w0 + w2, twice = w1 + w1, two = fma(V::broadcast(4.0f), w2, w0);
    (one + w1).store(to);
    (one - w1).store(to + kMixedForm);
    (two + twice).store(to + 2 * kMixedForm);
    (two - twice).store(to + 3 * kMixedForm);
  });
}

}  // namespace

constinit const MixedFunctions kMixedAvx512 = {.classes = {0, 0, 0, 1, 2, 0},
                                               .taps = {0, -1, -1, -1, -1, 2},
                                               .sets = {{{0, 1, 2}, 3, 4}, {{3, 4, 5}, 3, 4}, {}},
                                               .set_count = 2,
                                               .input = MixedTransforms<V, 1>::input,
                                               .output = MixedTransforms<V, 1>::output,
                                               .weights = weights,
                                               .product = product};

}  // namespace tenon::cpu
