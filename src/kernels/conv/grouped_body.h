#pragma once

#include <utility>

#include "kernels/conv/gather_body.h"
#include "kernels/conv/grouped.h"
#include "kernels/gemm/microkernel_body.h"

/// The tiles of GroupedConvolution over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

template <class V, int R, int W> struct GroupedKernel {
  using Base = TileKernel<FloatProduct<V>, R, W, W>;

  // As in TileKernel, rows are addressed from every third one.
  [[gnu::always_inline]] static void product(const GroupedTile& g, V (&acc)[R][W]) {
    constexpr int kThirds = (R + 2) / 3;
    const int64_t stride = g.tile.a_stride;
    const float* b = static_cast<const float*>(g.tile.b);
    for (int run = 0; run < g.runs; ++run) {
      const float* row[kThirds];
#pragma GCC unroll 8
      for (int i = 0; i < kThirds; ++i) {
        row[i] = static_cast<const float*>(g.tile.a) + g.offsets[run] + 3 * i * stride;
        asm("" : "+r"(row[i]));
      }
      for (int64_t k = g.tile.k; k > 0; --k) {
        V column[W];
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) column[w] = V::load(b + w * V::kWidth);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const V x = V::broadcast(row[r / 3][r % 3 * stride]);
#pragma GCC unroll 4
          for (int w = 0; w < W; ++w) acc[r][w] = fma(x, column[w], acc[r][w]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kThirds; ++i) ++row[i];
        b += W * V::kWidth;
      }
    }
  }

  static void run(const GroupedTile& g) {
    V acc[R][W];
    const bool full = g.tile.columns == W * V::kWidth;
    full ? Base::template start<true>(g.tile, acc) : Base::template start<false>(g.tile, acc);
    product(g, acc);
    full ? Base::template finish<true>(g.tile, acc) : Base::template finish<false>(g.tile, acc);
  }
};

/// Kernels for 1 .. kRows pixels.
template <class V, int kRows, int W> struct GroupedTable {
  template <int... R> static void run(const GroupedTile& g, std::integer_sequence<int, R...>) {
    static constexpr void (*kTable[])(const GroupedTile&) = {GroupedKernel<V, R + 1, W>::run...};
    kTable[g.tile.rows - 1](g);
  }
  static void run(const GroupedTile& g) { run(g, std::make_integer_sequence<int, kRows>()); }
  static constexpr GroupedFunctions::Width kWidth = {W * V::kWidth, kRows, run};
};

template <class V, class From> void copy_piece_from(const GroupedPiece& p) {
  float* to = p.to;
  for (int64_t l = 0; l < p.lines; ++l) {
    const int64_t line = p.first_line + l;
    if (line < 0 || line >= p.height) {
      Copy<V>::zero(to, p.columns * p.channels);
      to += p.columns * p.channels;
      continue;
    }
    const From* from = static_cast<const From*>(p.input) + line * p.width * p.pixel_stride;
    for (int64_t c = 0; c < p.columns; ++c, to += p.channels) {
      const int64_t column = p.first_column + c;
      if (column < 0 || column >= p.width)
        Copy<V>::zero(to, p.channels);
      else
        Copy<V>::run(from + column * p.pixel_stride, to, p.channels);
    }
  }
}

template <class V> void copy_piece(const GroupedPiece& p) {
  p.type == ElementType::f32 ? copy_piece_from<V, float>(p) : copy_piece_from<V, uint16_t>(p);
}

}  // namespace
}  // namespace tenon::cpu
