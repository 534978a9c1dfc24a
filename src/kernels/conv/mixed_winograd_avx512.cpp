#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/conv/mixed_winograd_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {
namespace {

using V = vector_math::F32x16;

void input(const MixedInput& t) {
  if (t.input_type == ElementType::f32)
    MixedInputTransform<V, float>{t}.all();
  else
    MixedInputTransform<V, uint16_t>{t}.all();
}

void output(const WinogradOutput& t, const MixedPlaces* places) {
  MixedOutputTransform<V>{t, places}.all();
}

void weights(const float* plain, float* to, int64_t k) {
  constexpr int64_t kRow = kMixedPanel, kPoint = kMixedDepth * 3 * kRow;
  for (int64_t i = 0; i < 3 * k; ++i, plain += 3 * kRow, to += kRow)
#pragma GCC unroll 2
    for (int n = 0; n < kRow; n += V::kWidth) {
      const V w0 = V::load(plain + n), w1 = V::load(plain + kRow + n);
      const V w2 = V::load(plain + 2 * kRow + n);
      const V one = w0 + w2, twice = w1 + w1, two = fma(V::broadcast(4.0f), w2, w0);
      (one + w1).store(to + n);
      (one - w1).store(to + kPoint + n);
      (two + twice).store(to + 2 * kPoint + n);
      (two - twice).store(to + 3 * kPoint + n);
    }
}

/// The sums of one point: kRows tiles, two vectors of columns.
template <int kRows>
struct PointSums {
  V v[kRows == 0 ? 1 : kRows][2];

  [[gnu::always_inline]] void zero() {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) v[r][0] = v[r][1] = V::zero();
  }
  [[gnu::always_inline]] void load(const float* from) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      v[r][0] = V::load(from + r * kMixedPanel);
      v[r][1] = V::load(from + r * kMixedPanel + V::kWidth);
    }
  }
  [[gnu::always_inline]] void store(float* to) const {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      v[r][0].store(to + r * kMixedPanel);
      v[r][1].store(to + r * kMixedPanel + V::kWidth);
    }
  }
  [[gnu::always_inline]] void add(const float* tiles, V left, V right) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const V x = V::broadcast(tiles[r * kMixedDepth]);
      v[r][0] = fma(x, left, v[r][0]);
      v[r][1] = fma(x, right, v[r][1]);
    }
  }
};

/// Weights of the points along columns are sums and differences of the kernel's three rows: the
/// processor adds beside its multiplications.
template <bool kFar, int kA, int kB, int kC>
void product(const MixedProduct& p) {
  PointSums<kA> a;
  PointSums<kB> b;
  PointSums<kC> c;
  if (p.adds) {
    a.load(p.sums[0]), b.load(p.sums[1]), c.load(p.sums[2]);
  } else {
    a.zero(), b.zero(), c.zero();
  }
  const float *w = p.weights, *tiles_a = p.tiles[0], *tiles_b = p.tiles[1], *tiles_c = p.tiles[2];
  const char* fetch = p.fetch;
  const int64_t row = p.row_stride;
  for (int64_t k = 0; k < p.k; ++k, w += p.k_stride) {
    _mm_prefetch(fetch, _MM_HINT_T1);
    _mm_prefetch(fetch + p.fetch_step / 2, _MM_HINT_T1);
    fetch += p.fetch_step;
    if constexpr (!kFar) {
      V left = V::load(w), right = V::load(w + V::kWidth);
      a.add(tiles_a + k, left, right);
      left = left + V::load(w + 2 * row), right = right + V::load(w + 2 * row + V::kWidth);
      const V left1 = V::load(w + row), right1 = V::load(w + row + V::kWidth);
      b.add(tiles_b + k, left + left1, right + right1);
      c.add(tiles_c + k, left - left1, right - right1);
    } else {
      V left = V::load(w + 2 * row), right = V::load(w + 2 * row + V::kWidth);
      c.add(tiles_c + k, left, right);
      left = left + left, right = right + right;
      left = left + left + V::load(w), right = right + right + V::load(w + V::kWidth);
      V left1 = V::load(w + row), right1 = V::load(w + row + V::kWidth);
      left1 = left1 + left1, right1 = right1 + right1;
      a.add(tiles_a + k, left + left1, right + right1);
      b.add(tiles_b + k, left - left1, right - right1);
    }
  }
  a.store(p.sums[0]), b.store(p.sums[1]), c.store(p.sums[2]);
}

/// All that come up: the last row of tiles, if a smaller one, is without -2, or without both.
template <int kA, int kB, int kC>
constexpr MixedProductFunction far_product() {
  if constexpr (kC > 0 && kA <= kC && kB <= kA && (kA == kC || kA == kB))
    return product<true, kA, kB, kC>;
  else
    return nullptr;
}

constexpr MixedFunctions functions() {
  MixedFunctions f = {.input = input, .output = output, .weights = weights, .near = {}, .far = {}};
  f.near[1] = product<false, 1, 1, 1>;
  f.near[2] = product<false, 2, 2, 2>;
  f.near[3] = product<false, 3, 3, 3>;
  f.near[4] = product<false, 4, 4, 4>;
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    ((f.far[kIndex / 25][kIndex / 5 % 5][kIndex % 5] =
          far_product<kIndex / 25, kIndex / 5 % 5, kIndex % 5>()),
     ...);
  }
  (std::make_integer_sequence<int, 125>{});
  return f;
}

}  // namespace

constinit const MixedFunctions kMixedAvx512 = functions();

}  // namespace tenon::cpu
