#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/conv/mixed_winograd.h"
#include "kernels/conv/winograd_body.h"
#include "kernels/conv/winograd_pixels.h"

/// Transforms of tiles for MixedWinograd over any vector type. Weights in their forms are sums of
/// the plain ones; the divisors of Lagrange's polynomials are part of the way back.
namespace tenon::cpu {
namespace {

/// One axis of a tile of kTile output pixels: kInputs neighbours to kValues numbers, the kRepeat-th
/// for weights in form kForm, and kValues sums back to pixels.
template <class V, int kStride, int kTile> struct MixedAxis;

template <class V> struct MixedAxis<V, 1, 2> {
  static constexpr int kInputs = 4, kValues = 4;
  static constexpr int kForm[] = {0, 1, 2, 5}, kRepeat[kValues] = {};
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    y[0] = plus(x[0], 0.5f, x[1] + x[2]);
    y[1] = plus(x[3], 0.5f, x[1] - x[2]);
  }
};

template <class V> struct MixedAxis<V, 1, 3> {
  static constexpr int kInputs = 5, kValues = 5;
  static constexpr int kForm[] = {0, 1, 2, 3, 5}, kRepeat[kValues] = {};
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    const V odd = x[3] - x[1];
    y[0] = plus(odd, 2.0f, x[0] - x[2]);
    y[1] = plus(x[3] - x[2], -2.0f, x[1]);
    y[2] = plus(plus(x[3], -3.0f, x[2]), 2.0f, x[1]);
    y[3] = odd;
    y[4] = plus(x[4] - x[2], -2.0f, odd);
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V one = times(-0.5f, x[1]), minus = times(1.0f / 6, x[2]);
    y[0] = plus(plus(one - minus, 0.5f, x[0]), 1.0f / 6, x[3]);
    y[1] = plus(one + minus, 1.0f / 3, x[3]);
    y[2] = plus(one - minus, 2.0f / 3, x[3]) + x[4];
  }
};

template <class V> struct MixedAxis<V, 1, 4> {
  static constexpr int kInputs = 6, kValues = 6;
  static constexpr int kForm[] = {0, 1, 2, 3, 4, 5}, kRepeat[kValues] = {};
  [[gnu::always_inline]] static void input(const V* x, V* y) { Transform<V, 4>::input(x, y); }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V even1 = times(-1.0f / 6, x[1] + x[2]), odd1 = times(-1.0f / 6, x[1] - x[2]);
    const V even2 = x[3] + x[4], odd2 = x[3] - x[4];
    y[0] = plus(plus(even1, 0.25f, x[0]), 1.0f / 24, even2);
    y[1] = plus(odd1, 1.0f / 12, odd2);
    y[2] = plus(even1, 1.0f / 6, even2);
    y[3] = plus(odd1, 1.0f / 3, odd2) + x[5];
  }
};

template <class V> struct MixedAxis<V, 2, 2> {
  static constexpr int kInputs = 5, kValues = 5;
  static constexpr int kForm[] = {0, 1, 4, 5, 5}, kRepeat[] = {0, 0, 0, 0, 1};
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    y[0] = x[0] - x[2], y[1] = x[2], y[2] = x[4] - x[2];
    y[3] = x[1], y[4] = x[3];
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    y[0] = x[0] + x[1] + x[3];
    y[1] = x[1] + x[2] + x[4];
  }
};

/// The points of even places are those of stride 1 with as many neighbours.
template <class V> struct MixedAxis<V, 2, 3> {
  static constexpr int kInputs = 7, kValues = 7;
  static constexpr int kForm[] = {0, 1, 2, 4, 5, 5, 5}, kRepeat[] = {0, 0, 0, 0, 0, 1, 2};
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    const V even[4] = {x[0], x[2], x[4], x[6]};
    MixedAxis<V, 1, 2>::input(even, y);
    y[4] = x[1], y[5] = x[3], y[6] = x[5];
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V even = times(0.5f, x[1] + x[2]), odd = times(0.5f, x[1] - x[2]);
    y[0] = x[0] + even + x[4];
    y[1] = odd + x[5];
    y[2] = even + x[3] + x[6];
  }
};

template <class V> struct MixedAxis<V, 2, 4> {
  static constexpr int kInputs = 9, kValues = 9;
  static constexpr int kForm[] = {0, 1, 2, 3, 4, 5, 5, 5, 5};
  static constexpr int kRepeat[] = {0, 0, 0, 0, 0, 0, 1, 2, 3};
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    const V even[5] = {x[0], x[2], x[4], x[6], x[8]};
    MixedAxis<V, 1, 3>::input(even, y);
    y[5] = x[1], y[6] = x[3], y[7] = x[5], y[8] = x[7];
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V one = times(-0.5f, x[1]), minus = times(1.0f / 6, x[2]);
    const V even = one - minus, odd = one + minus;
    y[0] = plus(plus(even, 0.5f, x[0]), 1.0f / 6, x[3]) + x[5];
    y[1] = plus(odd, 1.0f / 3, x[3]) + x[6];
    y[2] = plus(even, 2.0f / 3, x[3]) + x[7];
    y[3] = plus(odd, 4.0f / 3, x[3]) + (x[4] + x[8]);
  }
};

constexpr int mixed_class(int stride, int form) {
  constexpr int kClass[2][kMixedForms] = {{0, 0, 0, 1, 2, 0}, {0, 0, 1, 2, 0, kMixedOdd}};
  return kClass[stride - 1][form];
}

/// Calls `run` with the tile's rows and columns as constants.
template <class Run> void for_mixed_kind(int64_t rows, int64_t columns, Run run) {
  const auto with_rows = [&](auto high) {
    if (columns >= 4)
      run(high, std::integral_constant<int, 4>{});
    else if (columns == 3)
      run(high, std::integral_constant<int, 3>{});
    else
      run(high, std::integral_constant<int, 2>{});
  };
  if (rows >= 4)
    with_rows(std::integral_constant<int, 4>{});
  else if (rows == 3)
    with_rows(std::integral_constant<int, 3>{});
  else
    with_rows(std::integral_constant<int, 2>{});
}

/// The row of a tile's number (i, j).
template <int kStride, class High, class Wide>
[[gnu::always_inline]] inline int64_t mixed_row(const MixedRows& rows, const MixedPlaces& places,
                                                int i, int j) {
  const int a = High::kForm[i], b = Wide::kForm[j];
  const int high = mixed_class(kStride, a), wide = mixed_class(kStride, b);
  const int in_row = wide == kMixedOdd ? Wide::kValues / 2 : 1;
  return rows[a * kMixedForms + b] + places[high * kMixedClasses + wide] +
         High::kRepeat[i] * in_row + Wide::kRepeat[j];
}

template <class V, int kStride, class From> struct MixedInputTransform {
  const MixedInput& t;

  [[gnu::always_inline]] static V load(const float* p, int n) {
    return n == V::kWidth ? V::load(p) : V::load(p, n);
  }
  [[gnu::always_inline]] static V load(const uint16_t* p, int n) {
    return n == V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
  }

  template <class High, class Wide, bool kInside>
  [[gnu::always_inline]] void channels(const From* corner, int64_t row, int64_t column,
                                       const MixedPlaces& places, float* to, int n) const {
    const WinogradShape& s = t.shape;
    V half[Wide::kInputs][High::kValues];  // half[j]: column j, transformed along its height
#pragma GCC unroll 9
    for (int j = 0; j < Wide::kInputs; ++j) {
      V x[High::kInputs];
#pragma GCC unroll 9
      for (int i = 0; i < High::kInputs; ++i) {
        const From* p = corner + (i * s.width + j) * s.input_stride;
        const bool inside = kInside || (static_cast<uint64_t>(row + i) < uint64_t(s.height) &&
                                        static_cast<uint64_t>(column + j) < uint64_t(s.width));
        x[i] = inside ? load(p, n) : V::zero();
      }
      High::input(x, half[j]);
    }
#pragma GCC unroll 9
    for (int i = 0; i < High::kValues; ++i) {
      V x[Wide::kInputs], y[Wide::kValues];
#pragma GCC unroll 9
      for (int j = 0; j < Wide::kInputs; ++j) x[j] = half[j][i];
      Wide::input(x, y);
#pragma GCC unroll 9
      for (int j = 0; j < Wide::kValues; ++j)
        y[j].store(to + mixed_row<kStride, High, Wide>(t.rows, places, i, j) * kMixedDepth);
    }
  }

  template <int kHigh, int kWide>
  void tile(const From* corner, int64_t row, int64_t column, const MixedPlaces& places) const {
    using High = MixedAxis<V, kStride, kHigh>;
    using Wide = MixedAxis<V, kStride, kWide>;
    const WinogradShape& s = t.shape;
    const bool inside = row >= 0 && column >= 0 && row + High::kInputs <= s.height &&
                        column + Wide::kInputs <= s.width;
    for (int64_t c = 0; c < s.channels; c += V::kWidth) {
      const int n = static_cast<int>(s.channels - c < V::kWidth ? s.channels - c : V::kWidth);
      float* to = t.to + c / kMixedDepth * t.depth_stride + c % kMixedDepth;
      if (inside && n == V::kWidth)
        channels<High, Wide, true>(corner + c, row, column, places, to, V::kWidth);
      else
        channels<High, Wide, false>(corner + c, row, column, places, to, n);
    }
  }

  void all() const {
    const WinogradShape& s = t.shape;
    for (int64_t i = t.first; i < t.first + t.count; ++i) {
      const TilePosition at(s, i, 4);
      const int64_t row = at.row * kStride - s.pad_top, column = at.column * kStride - s.pad_left;
      const From* corner = static_cast<const From*>(t.input) +
                           ((at.image * s.height + row) * s.width + column) * s.input_stride;
      for_mixed_kind(s.out_height - at.row, s.out_width - at.column, [&](auto high, auto wide) {
        tile<high(), wide()>(corner, row, column, t.places[i]);
      });
    }
  }
};

template <class V, int kStride> struct MixedOutputTransform {
  const WinogradOutput& t;
  const MixedPlaces* places;
  const MixedRows& rows;

  template <int kHigh, int kWide>
  [[gnu::always_inline]] void sums(const float* from, const MixedPlaces& place,
                                   V (&y)[4][4]) const {
    using High = MixedAxis<V, kStride, kHigh>;
    using Wide = MixedAxis<V, kStride, kWide>;
    V half[Wide::kValues][kHigh];
#pragma GCC unroll 9
    for (int j = 0; j < Wide::kValues; ++j) {
      V x[High::kValues];
#pragma GCC unroll 9
      for (int i = 0; i < High::kValues; ++i)
        x[i] = V::load(from + mixed_row<kStride, High, Wide>(rows, place, i, j) * kMixedPanel);
      High::output(x, half[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kHigh; ++i) {
      V x[Wide::kValues];
#pragma GCC unroll 9
      for (int j = 0; j < Wide::kValues; ++j) x[j] = half[j][i];
      Wide::output(x, y[i]);
    }
  }

  template <int kHigh, int kWide>
  void tile(const TilePosition& at, const MixedPlaces& place) const {
    const WinogradShape& s = t.shape;
    const int64_t pixel = (at.image * s.out_height + at.row) * s.out_width + at.column;
    const int high = static_cast<int>(std::min<int64_t>(kHigh, s.out_height - at.row));
    const int wide = static_cast<int>(std::min<int64_t>(kWide, s.out_width - at.column));
    const TilePixels<V, 4> pixels{t};
    for (int64_t c = 0; c < t.channels; c += V::kWidth) {
      V y[4][4];
      sums<kHigh, kWide>(t.sums + c, place, y);
      pixels.write(y, pixel, c, high, wide);
    }
    if (t.finish != nullptr) pixels.finish_rows(pixel, high, wide);
  }

  void all() const {
    const WinogradShape& s = t.shape;
    for (int64_t i = t.first; i < t.first + t.count; ++i) {
      const TilePosition at(s, i, 4);
      for_mixed_kind(s.out_height - at.row, s.out_width - at.column,
                     [&](auto high, auto wide) { tile<high(), wide()>(at, places[i]); });
    }
  }
};

/// The transforms of one stride as plain functions.
template <class V, int kStride> struct MixedTransforms {
  static void input(const MixedInput& t) {
    if (t.input_type == ElementType::f32)
      MixedInputTransform<V, kStride, float>{t}.all();
    else
      MixedInputTransform<V, kStride, uint16_t>{t}.all();
  }
  static void output(const WinogradOutput& t, const MixedPlaces* places, const MixedRows& rows) {
    MixedOutputTransform<V, kStride>{t, places, rows}.all();
  }
};

}  // namespace
}  // namespace tenon::cpu
