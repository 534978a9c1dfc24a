#pragma once

#include "kernels/conv/mixed_winograd.h"
#include "kernels/conv/winograd_pixels.h"

/// Transforms of tiles for MixedWinograd over any vector type. Weights are not scaled, see
/// MixedProduct; what Lagrange's polynomials divide by is part of the way back.
namespace tenon::cpu {
namespace {

/// One axis of a tile of kTile pixels: kTile + 2 neighbours to as many points, and back.
template <class V, int kTile>
struct MixedAxis;

template <class V>
struct MixedAxis<V, 2> {
  static constexpr int kPoint[4] = {0, 1, 2, 5};
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

template <class V>
struct MixedAxis<V, 3> {
  static constexpr int kPoint[5] = {0, 1, 2, 3, 5};
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

template <class V>
struct MixedAxis<V, 4> {
  static constexpr int kPoint[6] = {0, 1, 2, 3, 4, 5};
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
    const V even1 = times(-1.0f / 6, x[1] + x[2]), odd1 = times(-1.0f / 6, x[1] - x[2]);
    const V even2 = x[3] + x[4], odd2 = x[3] - x[4];
    y[0] = plus(plus(even1, 0.25f, x[0]), 1.0f / 24, even2);
    y[1] = plus(odd1, 1.0f / 12, odd2);
    y[2] = plus(even1, 1.0f / 6, even2);
    y[3] = plus(odd1, 1.0f / 3, odd2) + x[5];
  }
};

/// Calls `run` with the tile's rows and columns as constants.
template <class Run>
void for_mixed_kind(int64_t rows, int64_t columns, Run run) {
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

/// Floats from the start of an array of points to a tile's numbers of one point.
template <int64_t kRow>
[[gnu::always_inline]] inline int64_t mixed_place(const MixedPlaces& places, int64_t point_stride,
                                                  int i, int j) {
  return (i * 6 + j) * point_stride + places[3 * kMixedClass[i] + kMixedClass[j]] * kRow;
}

template <class V, class From>
struct MixedInputTransform {
  const MixedInput& t;

  [[gnu::always_inline]] static V load(const float* p, int n) {
    return n == V::kWidth ? V::load(p) : V::load(p, n);
  }
  [[gnu::always_inline]] static V load(const uint16_t* p, int n) {
    return n == V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
  }

  template <int kHigh, int kWide, bool kInside>
  [[gnu::always_inline]] void channels(const From* corner, int64_t row, int64_t column,
                                       const MixedPlaces& places, float* to, int n) const {
    const WinogradShape& s = t.shape;
    V half[kWide + 2][kHigh + 2];  // half[j]: column j of the tile, transformed along its height
#pragma GCC unroll 6
    for (int j = 0; j < kWide + 2; ++j) {
      V x[kHigh + 2];
#pragma GCC unroll 6
      for (int i = 0; i < kHigh + 2; ++i) {
        const From* p = corner + (i * s.width + j) * s.input_stride;
        const bool inside = kInside || (static_cast<uint64_t>(row + i) < uint64_t(s.height) &&
                                        static_cast<uint64_t>(column + j) < uint64_t(s.width));
        x[i] = inside ? load(p, n) : V::zero();
      }
      MixedAxis<V, kHigh>::input(x, half[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kHigh + 2; ++i) {
      V x[kWide + 2], y[kWide + 2];
#pragma GCC unroll 6
      for (int j = 0; j < kWide + 2; ++j) x[j] = half[j][i];
      MixedAxis<V, kWide>::input(x, y);
#pragma GCC unroll 6
      for (int j = 0; j < kWide + 2; ++j)
        y[j].store(to + mixed_place<kMixedDepth>(places, t.point_stride,
                                                 MixedAxis<V, kHigh>::kPoint[i],
                                                 MixedAxis<V, kWide>::kPoint[j]));
    }
  }

  template <int kHigh, int kWide>
  void tile(const From* corner, int64_t row, int64_t column, const MixedPlaces& places) const {
    const WinogradShape& s = t.shape;
    const bool inside =
        row >= 0 && column >= 0 && row + kHigh + 2 <= s.height && column + kWide + 2 <= s.width;
    for (int64_t c = 0; c < s.channels; c += V::kWidth) {
      const int n = static_cast<int>(s.channels - c < V::kWidth ? s.channels - c : V::kWidth);
      float* to = t.to + c / kMixedDepth * t.depth_stride + c % kMixedDepth;
      if (inside && n == V::kWidth)
        channels<kHigh, kWide, true>(corner + c, row, column, places, to, V::kWidth);
      else
        channels<kHigh, kWide, false>(corner + c, row, column, places, to, n);
    }
  }

  void all() const {
    const WinogradShape& s = t.shape;
    for (int64_t i = t.first; i < t.first + t.count; ++i) {
      const TilePosition at(s, i, 4);
      const int64_t row = at.row - s.pad_top, column = at.column - s.pad_left;
      const From* corner = static_cast<const From*>(t.input) +
                           ((at.image * s.height + row) * s.width + column) * s.input_stride;
      for_mixed_kind(s.out_height - at.row, s.out_width - at.column, [&](auto high, auto wide) {
        tile<high(), wide()>(corner, row, column, t.places[i]);
      });
    }
  }
};

template <class V>
struct MixedOutputTransform {
  const WinogradOutput& t;
  const MixedPlaces* places;

  template <int kHigh, int kWide>
  [[gnu::always_inline]] void sums(const float* from, const MixedPlaces& place,
                                   V (&y)[4][4]) const {
    V half[kWide + 2][kHigh];
#pragma GCC unroll 6
    for (int j = 0; j < kWide + 2; ++j) {
      V x[kHigh + 2];
#pragma GCC unroll 6
      for (int i = 0; i < kHigh + 2; ++i)
        x[i] = V::load(from + mixed_place<kMixedPanel>(place, t.point_stride,
                                                       MixedAxis<V, kHigh>::kPoint[i],
                                                       MixedAxis<V, kWide>::kPoint[j]));
      MixedAxis<V, kHigh>::output(x, half[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kHigh; ++i) {
      V x[kWide + 2];
#pragma GCC unroll 6
      for (int j = 0; j < kWide + 2; ++j) x[j] = half[j][i];
      MixedAxis<V, kWide>::output(x, y[i]);
    }
  }

  template <int kHigh, int kWide>
  void tile(const TilePosition& at, const MixedPlaces& place) const {
    const WinogradShape& s = t.shape;
    const int64_t pixel = (at.image * s.out_height + at.row) * s.out_width + at.column;
    const int rows = static_cast<int>(std::min<int64_t>(kHigh, s.out_height - at.row));
    const int columns = static_cast<int>(std::min<int64_t>(kWide, s.out_width - at.column));
    const TilePixels<V, 4> pixels{t};
    for (int64_t c = 0; c < t.channels; c += V::kWidth) {
      V y[4][4];
      sums<kHigh, kWide>(t.sums + c, place, y);
      pixels.write(y, pixel, c, rows, columns);
    }
    if (t.finish != nullptr) pixels.finish_rows(pixel, rows, columns);
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

}  // namespace
}  // namespace tenon::cpu
