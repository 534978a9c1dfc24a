#pragma once

#include "device/cpu/prefetch.h"
#include "kernels/conv/stem.h"
#include "kernels/gemm/microkernel_body.h"

/// The tiles of StemConvolution over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

template <class P, int R, int W, int kPanelVectors, int kStep> struct StemKernel {
  using V = typename P::Vector;
  using Base = TileKernel<P, R, W, kPanelVectors>;

  [[gnu::always_inline]] static void product(const StemTile& s, V (&acc)[R][W]) {
    const float* corner = static_cast<const float*>(s.tile.a);
    const float* b = static_cast<const float*>(s.tile.b);
    // The lines of the next tile: stores to lines in no cache would wait for memory.
    const int64_t size = element_size(s.tile.output_type), row = s.tile.output_stride * size;
    const char* next = static_cast<const char*>(s.tile.output) + R * row;
    for (int64_t k = 0; k < s.tile.k; ++k) {
      prefetch_for_writing(next + k / W * row + k % W * V::kWidth * size);
      const float* a = corner + s.offsets[k];
      V column[W];
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) column[w] = V::load(b + w * V::kWidth);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V x = V::broadcast(a[r * kStep]);
#pragma GCC unroll 8
        for (int w = 0; w < W; ++w) acc[r][w] = fma(x, column[w], acc[r][w]);
      }
      b += kPanelVectors * V::kWidth;
    }
  }

  static void run(const StemTile& s) {
    V acc[R][W];
    if (s.tile.columns == W * V::kWidth) {
      Base::template start<true>(s.tile, acc);
      product(s, acc);
      Base::template finish<true>(s.tile, acc);
    } else {
      Base::template start<false>(s.tile, acc);
      product(s, acc);
      Base::template finish<false>(s.tile, acc);
    }
  }
};

template <class V, int kRows, int kVectors> struct StemTable {
  using P = FloatProduct<V>;

  template <int R, int W> static void by_step(const StemTile& s) {
    switch (s.step) {
      case 1: return StemKernel<P, R, W, kVectors, 1>::run(s);
      case 2: return StemKernel<P, R, W, kVectors, 2>::run(s);
      default: return StemKernel<P, R, W, kVectors, 4>::run(s);
    }
  }
  template <int R> static void by_columns(const StemTile& s) {
    if (s.tile.columns <= V::kWidth)
      by_step<R, 1>(s);
    else
      by_step<R, kVectors>(s);
  }
  static void run(const StemTile& s) {
    if (s.tile.rows == kRows)
      by_columns<kRows>(s);
    else
      by_columns<1>(s);
  }
  [[gnu::always_inline]] static V larger(V x, V best) {
    return {(x.v > best.v) | (x.v != x.v) ? x.v : best.v};
  }
  static void maximum(const float* const* from, int count, int64_t n, void* to, ElementType type) {
    for (int64_t i = 0; i < n; i += V::kWidth) {
      const int lanes = static_cast<int>(n - i < V::kWidth ? n - i : V::kWidth);
      V best = V::broadcast(-__builtin_inff());
      for (int k = 0; k < count; ++k)
        best =
            larger(lanes == V::kWidth ? V::load(from[k] + i) : V::load(from[k] + i, lanes), best);
      if (type == ElementType::f32)
        best.store(static_cast<float*>(to) + i, lanes);
      else
        best.store_bf16(static_cast<uint16_t*>(to) + i, lanes);
    }
  }
  static constexpr StemFunctions kFunctions = {kRows, run, maximum};
};

}  // namespace
}  // namespace tenon::cpu
