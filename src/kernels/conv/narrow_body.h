#pragma once

#include "kernels/conv/narrow.h"
#include "kernels/conv/tap_rows.h"

/// The NarrowFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

/// Rows of the image under one line of output, those inside alone, with their taps' weights.
struct NarrowRows {
  int count = 0;
  const float* input[kMostNarrowRows];
  const float* weights[kMostNarrowRows];

  void find(const NarrowLine& t) {
    for_rows_inside(t, [&](int64_t i, int64_t j, int64_t d, int64_t h) {
      input[count] = t.input + (d * t.extents[1] + h) * t.extents[2] * t.channels;
      weights[count++] = t.weights + (i * t.kernel[1] + j) * t.weight_stride;
    });
  }
};

template <class V, int kOutputs> struct Narrow {
  const NarrowLine& t;
  const NarrowRows& rows;

  /// kPixels neighbours whose rows of taps start at column `from`, of which numbers [low, high)
  /// count.
  template <int kPixels>
  [[gnu::always_inline]] void pixels(int64_t pixel, int64_t from, int64_t low, int64_t high) const {
    V sums[kPixels][kOutputs];
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i)
      for (int o = 0; o < kOutputs; ++o) sums[i][o] = V::zero();
    const int64_t step = t.stride[2] * t.channels, output = t.weight_rows * t.weight_stride;
    for (int r = 0; r < rows.count; ++r) {
      const float *x = rows.input[r] + from * t.channels, *w = rows.weights[r];
      int64_t at = low;
      for (; at + V::kWidth <= high; at += V::kWidth) {
        V weights[kOutputs];
#pragma GCC unroll 4
        for (int o = 0; o < kOutputs; ++o) weights[o] = V::load(w + o * output + at);
#pragma GCC unroll 8
        for (int i = 0; i < kPixels; ++i) {
          const V value = V::load(x + i * step + at);
#pragma GCC unroll 4
          for (int o = 0; o < kOutputs; ++o) sums[i][o] = fma(value, weights[o], sums[i][o]);
        }
      }
      const int left = static_cast<int>(high - at);
      for (int i = 0; i < kPixels && left > 0; ++i)
        for (int o = 0; o < kOutputs; ++o)
          sums[i][o] =
              fma(V::load(x + i * step + at, left), V::load(w + o * output + at, left), sums[i][o]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kPixels; ++i)
      for (int o = 0; o < kOutputs; ++o) t.tile[(pixel + i) * t.tile_stride + o] = sum(sums[i][o]);
  }

  /// The first column that a pixel reads.
  int64_t column(int64_t pixel) const {
    return (t.first + pixel) * t.stride[2] - t.pad[2];
  }
  bool inside(int64_t pixel) const {
    return column(pixel) >= 0 && column(pixel) + t.kernel[2] <= t.extents[2];
  }

  void at_border(int64_t pixel) const {
    const int64_t from = column(pixel);
    const int64_t low = from < 0 ? -from : 0;
    int64_t high = t.extents[2] - from;
    if (high > t.kernel[2]) high = t.kernel[2];
    if (high < low) high = low;
    pixels<1>(pixel, from, low * t.channels, high * t.channels);
  }

  void all() const {
    constexpr int kTogether = V::kWidth > 1 ? 4 : 1;
    int64_t pixel = 0;
    while (pixel < t.pixels) {
      if (!inside(pixel)) {
        at_border(pixel++);
      } else if (pixel + kTogether <= t.pixels && inside(pixel + kTogether - 1)) {
        pixels<kTogether>(pixel, column(pixel), 0, t.row_length);
        pixel += kTogether;
      } else {
        pixels<1>(pixel, column(pixel), 0, t.row_length);
        ++pixel;
      }
    }
  }
};

template <class V> void narrow(const NarrowLine& line) {
  NarrowRows rows;
  rows.find(line);
  switch (line.outputs) {
    case 1: return Narrow<V, 1>{line, rows}.all();
    case 2: return Narrow<V, 2>{line, rows}.all();
    case 3: return Narrow<V, 3>{line, rows}.all();
    default: return Narrow<V, 4>{line, rows}.all();
  }
}

}  // namespace
}  // namespace tenon::cpu
