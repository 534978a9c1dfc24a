#pragma once

#include <algorithm>

#include "kernels/conv/winograd_pixels.h"

/// The transforms of Winograd convolution over any vector type; included by one source an
/// instruction set.
namespace tenon::cpu {
namespace {

/// One-dimensional transforms: input points from kTile + 2 neighbours, kTile sums from the points.
/// The points are 0, 1, -1 and infinity, for tiles of four also 2 and -2.
template <class V, int kTile> struct Transform;

template <class V> struct Transform<V, 2> {
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[1] - x[3];
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2] - x[3];
  }
  [[gnu::always_inline]] static void weights(const V* x, V* y) {
    const V even = times(0.5f, x[0] + x[2]), odd = times(0.5f, x[1]);
    y[0] = x[0];
    y[1] = even + odd;
    y[2] = even - odd;
    y[3] = x[2];
  }
};

template <class V> struct Transform<V, 4> {
  [[gnu::always_inline]] static void input(const V* x, V* y) {
    const V even1 = plus(x[4], -4.0f, x[2]), odd1 = plus(x[3], -4.0f, x[1]);
    const V even2 = x[4] - x[2], odd2 = times(2.0f, x[3] - x[1]);
    y[0] = plus(plus(x[4], -5.0f, x[2]), 4.0f, x[0]);
    y[1] = even1 + odd1;
    y[2] = even1 - odd1;
    y[3] = even2 + odd2;
    y[4] = even2 - odd2;
    y[5] = plus(plus(x[5], -5.0f, x[3]), 4.0f, x[1]);
  }
  [[gnu::always_inline]] static void output(const V* x, V* y) {
    const V even1 = x[1] + x[2], odd1 = x[1] - x[2];
    const V even2 = x[3] + x[4], odd2 = x[3] - x[4];
    y[0] = x[0] + even1 + even2;
    y[1] = plus(odd1, 2.0f, odd2);
    y[2] = plus(even1, 4.0f, even2);
    y[3] = plus(odd1, 8.0f, odd2) + x[5];
  }
  [[gnu::always_inline]] static void weights(const V* x, V* y) {
    const V even1 = times(-1.0f / 6, x[0] + x[2]), odd1 = times(-1.0f / 6, x[1]);
    const V even2 = plus(times(1.0f / 24, x[0]), 1.0f / 6, x[2]), odd2 = times(1.0f / 12, x[1]);
    y[0] = times(0.25f, x[0]);
    y[1] = even1 + odd1;
    y[2] = even1 - odd1;
    y[3] = even2 + odd2;
    y[4] = even2 - odd2;
    y[5] = x[2];
  }
};

template <class V, int kTile, class From> struct InputTransform {
  static constexpr int kSize = kTile + 2;
  const WinogradInput& t;

  [[gnu::always_inline]] static V load(const float* p, int n) {
    return n == V::kWidth ? V::load(p) : V::load(p, n);
  }
  [[gnu::always_inline]] static V load(const uint16_t* p, int n) {
    return n == V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
  }

  template <bool kInside>
  [[gnu::always_inline]] void channels(const From* corner, int64_t row, int64_t column, float* to,
                                       int n) const {
    const WinogradShape& s = t.shape;
    V half[kSize][kSize];  // half[j]: column j of the tile, transformed along its height
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) {
      V x[kSize];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) {
        const int64_t y = i * s.dilation_high, z = j * s.dilation_wide;
        const From* p = corner + (y * s.width + z) * s.input_stride;
        const bool inside = kInside || (static_cast<uint64_t>(row + y) < uint64_t(s.height) &&
                                        static_cast<uint64_t>(column + z) < uint64_t(s.width));
        x[i] = inside ? load(p, n) : V::zero();
      }
      Transform<V, kTile>::input(x, half[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      V x[kSize], y[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) x[j] = half[j][i];
      Transform<V, kTile>::input(x, y);
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) {
        float* p = to + (i * kSize + j) * t.point_stride;
        n == V::kWidth ? y[j].store(p) : y[j].store(p, n);
      }
    }
  }

  void tile(int64_t index) const {
    const WinogradShape& s = t.shape;
    const TilePosition at(s, t.first + index, kTile);
    float* to = t.to + index * t.tile_stride;
    for (int64_t slice = 0; slice < s.slices; ++slice, to += s.channels) {
      const int64_t image = s.input_image(at.image, slice);
      image < 0 ? padding(to) : tile(at, image, to);
    }
  }

  /// A slice that has no image.
  void padding(float* to) const {
    for (int64_t point = 0; point < kSize * kSize; ++point)
      std::fill_n(to + point * t.point_stride, t.shape.channels, 0.0f);
  }

  void tile(const TilePosition& at, int64_t image, float* to) const {
    const WinogradShape& s = t.shape;
    const int64_t row = at.row - s.pad_top, column = at.column - s.pad_left;
    const From* corner = static_cast<const From*>(t.input) +
                         ((image * s.height + row) * s.width + column) * s.input_stride;
    const bool inside = row >= 0 && column >= 0 && row + (kSize - 1) * s.dilation_high < s.height &&
                        column + (kSize - 1) * s.dilation_wide < s.width;
    int64_t c = 0;
    for (; c + V::kWidth <= s.channels; c += V::kWidth) {
      if (inside)
        channels<true>(corner + c, row, column, to + c, V::kWidth);
      else
        channels<false>(corner + c, row, column, to + c, V::kWidth);
    }
    if (c < s.channels)
      channels<false>(corner + c, row, column, to + c, static_cast<int>(s.channels - c));
  }

  void all() const {
    for (int64_t i = 0; i < t.count; ++i) tile(i);
  }
};

template <class V, int kTile> struct OutputTransform {
  static constexpr int kSize = kTile + 2;
  const WinogradOutput& t;

  /// The sums of one vector of channels: y[row][column].
  [[gnu::always_inline]] void sums(const float* from, int n, V (&y)[kTile][kTile]) const {
    V half[kSize][kTile];
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) {
      V x[kSize];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) {
        const float* p = from + (i * kSize + j) * t.point_stride;
        x[i] = n == V::kWidth ? V::load(p) : V::load(p, n);
      }
      Transform<V, kTile>::output(x, half[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) {
      V x[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) x[j] = half[j][i];
      Transform<V, kTile>::output(x, y[i]);
    }
  }

  /// Rows or columns of a tile that exist where so many of the whole image follow.
  static int pixels_of(int64_t left, int64_t dilation) {
    const int64_t count = (left + dilation - 1) / dilation;
    return static_cast<int>(count < kTile ? count : kTile);
  }

  void tile(int64_t index) const {
    const WinogradShape& s = t.shape;
    const TilePosition at(s, t.first + index, kTile);
    const int64_t pixel = (at.image * s.out_height + at.row) * s.out_width + at.column;
    const int rows = pixels_of(s.out_height - at.row, s.dilation_high);
    const int columns = pixels_of(s.out_width - at.column, s.dilation_wide);
    if (rows <= 0 || columns <= 0) return;
    const TilePixels<V, kTile> pixels{t};
    for (int64_t c = 0; c < t.channels; c += V::kWidth) {
      const int n = static_cast<int>(t.channels - c < V::kWidth ? t.channels - c : V::kWidth);
      V y[kTile][kTile];
      sums(t.sums + index * t.tile_stride + c, n, y);
      pixels.write(y, pixel, c, rows, columns);
    }
    if (t.finish != nullptr) pixels.finish_rows(pixel, rows, columns);
  }

  void all() const {
    for (int64_t i = 0; i < t.count; ++i) tile(i);
  }
};

template <class V, int kTile> void transform_weights_of(const WinogradWeights& t) {
  constexpr int kSize = kTile + 2;
  for (int64_t c = 0; c < t.columns; c += V::kWidth) {
    V half[3][kSize];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      V x[3];
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i) x[i] = V::load(t.nine + (i * 3 + j) * t.columns + c);
      Transform<V, kTile>::weights(x, half[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      const V x[3] = {half[0][i], half[1][i], half[2][i]};
      V y[kSize];
      Transform<V, kTile>::weights(x, y);
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) y[j].store(t.to + (i * kSize + j) * t.point_stride + c);
    }
  }
}

template <class V> struct WinogradTable {
  template <int kTile> static void input(const WinogradInput& t) {
    if (t.input_type == ElementType::f32)
      InputTransform<V, kTile, float>{t}.all();
    else
      InputTransform<V, kTile, uint16_t>{t}.all();
  }
  template <int kTile> static void output(const WinogradOutput& t) {
    OutputTransform<V, kTile>{t}.all();
  }
  static constexpr WinogradFunctions kFunctions = {
      {input<2>, input<4>},
      {output<2>, output<4>},
      {transform_weights_of<V, 2>, transform_weights_of<V, 4>}};
};

}  // namespace
}  // namespace tenon::cpu
