#pragma once

#include "kernels/conv/winograd.h"
#include "kernels/vector_math/activations.h"

/// Shared by the transforms of Winograd convolution over any vector type: positions of tiles, the
/// end of output pixels. Included by one source an instruction set.
namespace tenon::cpu {
namespace {

namespace vm = vector_math;

template <class V> [[gnu::always_inline]] inline V times(float c, V x) {
  return V::broadcast(c) * x;
}
template <class V> [[gnu::always_inline]] inline V plus(V y, float c, V x) {
  return fma(V::broadcast(c), x, y);
}

/// Position of a tile's first output pixel; images of a volume follow each other.
struct TilePosition {
  int64_t image, row, column;
  TilePosition(const WinogradShape& s, int64_t index, int tile) {
    column = index % s.tiles_wide * tile;
    index /= s.tiles_wide;
    row = index % s.tiles_high * tile;
    index /= s.tiles_high;
    const int64_t residue = index % s.residues();
    image = index / s.residues();
    row = row * s.dilation_high + residue / s.dilation_wide;
    column = column * s.dilation_wide + residue % s.dilation_wide;
  }
};

/// Finishes the output pixels of tiles and writes them.
template <class V, int kTile> struct TilePixels {
  const WinogradOutput& t;

  [[gnu::always_inline]] static V load(const void* p, ElementType type, int64_t at, int n) {
    if (type == ElementType::f32) return V::load(static_cast<const float*>(p) + at, n);
    return V::load_bf16(static_cast<const uint16_t*>(p) + at, n);
  }
  [[gnu::always_inline]] static void store(V x, void* p, ElementType type, int64_t at, int n) {
    if (type == ElementType::f32)
      x.store(static_cast<float*>(p) + at, n);
    else
      x.store_bf16(static_cast<uint16_t*>(p) + at, n);
  }

  [[gnu::always_inline]] V finish(V x, V bias, int64_t pixel, int64_t channel, int n) const {
    x = x + bias;
    if (t.residual != nullptr)
      x = x + load(t.residual, t.output_type, pixel * t.residual_stride + channel, n);
    if (t.activation == RegisterActivation::clamp)
      x = min(V::broadcast(t.high), max(V::broadcast(t.low), x));
    else if (t.activation == RegisterActivation::hard_swish)
      x = vm::apply_unary(PointwiseFunction::k_hard_swish, x, 0.0f, 0.0f);
    return x;
  }

  /// Pixels of the whole image from one row of the tile to the next.
  int64_t row_step() const { return t.shape.dilation_high * t.shape.out_width; }

  /// Sums y[row][column] of the channels from `c` on.
  [[gnu::always_inline]] void write(const V (&y)[kTile][kTile], int64_t pixel, int64_t c, int rows,
                                    int columns) const {
    const int n = static_cast<int>(t.channels - c < V::kWidth ? t.channels - c : V::kWidth);
    const V bias = t.bias == nullptr ? V::zero() : V::load(t.bias + t.channel + c, n);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        if (t.finish != nullptr) {
          (y[i][j] + bias).store(t.tile + (i * kTile + j) * t.tile_stride + c, n);
          continue;
        }
        const int64_t p = pixel + i * row_step() + j * t.shape.dilation_wide;
        const V x = finish(y[i][j], bias, p, t.channel + c, n);
        store(x, t.output, t.output_type, p * t.shape.output_stride + t.channel + c, n);
      }
  }

  /// The steps that remain, when write() has had all channels of a tile.
  void finish_rows(int64_t pixel, int rows, int columns) const {
    for (int i = 0; i < rows; ++i) {
      const int64_t row = pixel + i * row_step();
      if (t.shape.dilation_wide == 1) {
        finish_row(t.tile + i * kTile * t.tile_stride, row, columns);
        continue;
      }
      for (int j = 0; j < columns; ++j)
        finish_row(t.tile + (i * kTile + j) * t.tile_stride, row + j * t.shape.dilation_wide, 1);
    }
  }

  /// So many neighbours from pixel `row` on.
  void finish_row(float* tile, int64_t row, int columns) const {
    const int64_t at = (row * t.shape.output_stride + t.channel) * element_size(t.output_type);
    t.finish({.tile = tile,
              .tile_stride = t.tile_stride,
              .rows = columns,
              .columns = t.channels,
              .row = row,
              .column = t.channel,
              .output = static_cast<char*>(t.output) + at,
              .output_stride = t.shape.output_stride,
              .output_type = t.output_type},
             t.steps, t.operands);
  }
};

}  // namespace
}  // namespace tenon::cpu
