#pragma once

#include <array>
#include <utility>

#include "kernels/conv/mixed_winograd.h"
#include "kernels/vector_math/vector_avx512.h"

/// The loop of MixedWinograd's products; included by one source a stride.
namespace tenon::cpu {
namespace {

using V = vector_math::F32x16;

/// The sums of one form: kRows numbers, two vectors of columns.
template <int kRows> struct FormSums {
  V v[kRows == 0 ? 1 : kRows][2];

  [[gnu::always_inline]] void zero() {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) v[r][0] = v[r][1] = V::zero();
  }
  [[gnu::always_inline]] void load(const float* from) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      v[r][0] = V::load(from + r * kMixedPanel);
      v[r][1] = V::load(from + r * kMixedPanel + V::kWidth);
    }
  }
  [[gnu::always_inline]] void store(float* to) const {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      v[r][0].store(to + r * kMixedPanel);
      v[r][1].store(to + r * kMixedPanel + V::kWidth);
    }
  }
  [[gnu::always_inline]] void add(const float* numbers, V left, V right) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const V x = V::broadcast(numbers[r * kMixedDepth]);
      v[r][0] = fma(x, left, v[r][0]);
      v[r][1] = fma(x, right, v[r][1]);
    }
  }
};

/// Two vectors of columns of one row of the kernel.
struct Columns {
  V left, right;
  [[gnu::always_inline]] static Columns load(const float* p) {
    return {V::load(p), V::load(p + V::kWidth)};
  }
  [[gnu::always_inline]] friend Columns operator+(Columns a, Columns b) {
    return {a.left + b.left, a.right + b.right};
  }
  [[gnu::always_inline]] friend Columns operator-(Columns a, Columns b) {
    return {a.left - b.left, a.right - b.right};
  }
};

/// Loops over k for a set of forms. `Forms::add(weights, row, a, b, c)` adds one step of k to the
/// sums by calling each with its form: sums and differences of the kernel's rows, for which the
/// processor has units beside those that multiply.
template <class Forms, int kA, int kB, int kC> void mixed_product(const MixedProduct& p) {
  FormSums<kA> a;
  FormSums<kB> b;
  FormSums<kC> c;
  if (p.adds) {
    a.load(p.sums[0]), b.load(p.sums[1]), c.load(p.sums[2]);
  } else {
    a.zero(), b.zero(), c.zero();
  }
  const float *w = p.weights, *at_a = p.numbers[0], *at_b = p.numbers[1], *at_c = p.numbers[2];
  const char* fetch = p.fetch;
  for (int64_t k = 0; k < p.k; ++k, w += p.k_stride) {
    _mm_prefetch(fetch, _MM_HINT_T1);
    _mm_prefetch(fetch + p.fetch_step / 2, _MM_HINT_T1);
    fetch += p.fetch_step;
    Forms::add(
        w, p.row_stride, [&](Columns x) { a.add(at_a + k, x.left, x.right); },
        [&](Columns x) { b.add(at_b + k, x.left, x.right); },
        [&](Columns x) { c.add(at_c + k, x.left, x.right); });
  }
  a.store(p.sums[0]), b.store(p.sums[1]), c.store(p.sums[2]);
}

/// Products by the rows of three forms, less than kEndA, kEndB and kEndC; null where
/// Forms::comes_up(a, b, c) says that there are no such.
template <class Forms, int kEndA, int kEndB, int kEndC> struct MixedProducts {
  template <int kIndex> static constexpr MixedProductFunction one() {
    constexpr int kA = kIndex / kEndC / kEndB, kB = kIndex / kEndC % kEndB, kC = kIndex % kEndC;
    if constexpr (Forms::comes_up(kA, kB, kC))
      return mixed_product<Forms, kA, kB, kC>;
    else
      return nullptr;
  }
  template <int... kIndex> static constexpr auto all(std::integer_sequence<int, kIndex...>) {
    return std::array<MixedProductFunction, sizeof...(kIndex)>{one<kIndex>()...};
  }
  static MixedProductFunction find(int a, int b, int c) {
    static constexpr auto kAll = all(std::make_integer_sequence<int, kEndA * kEndB * kEndC>{});
    return kAll[(a * kEndB + b) * kEndC + c];
  }
};

/// The prefetch of a transform of weights in one step of k.
[[gnu::always_inline]] inline void fetch_lines(const char* at, int64_t step) {
  for (int64_t i = 0; i < step; i += 64) _mm_prefetch(at + i, _MM_HINT_T1);
}

/// Plain weights in their forms: `store_forms(w0, w1, w2, to)` gets the three rows of a column of
/// kernels and stores form i at to + i * kMixedForm.
constexpr int64_t kMixedForm = kMixedDepth * 3 * kMixedPanel;
template <class Store>
[[gnu::always_inline]] inline void transform_weights(const MixedWeights& t, Store store_forms) {
  const float* plain = t.plain;
  float* to = t.to;
  for (int64_t k = 0; k < t.k; ++k) {
    fetch_lines(t.fetch + k * t.fetch_step, t.fetch_step);
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i, plain += 3 * kMixedPanel, to += kMixedPanel)
#pragma GCC unroll 2
      for (int n = 0; n < kMixedPanel; n += V::kWidth)
        store_forms(V::load(plain + n), V::load(plain + kMixedPanel + n),
                    V::load(plain + 2 * kMixedPanel + n), to + n);
  }
}

}  // namespace
}  // namespace tenon::cpu
