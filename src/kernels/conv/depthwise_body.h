#pragma once

#include "kernels/conv/depthwise.h"
#include "kernels/vector_math/activations.h"

/// The DepthwiseFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

namespace vm = vector_math;

/// Lines of a K x K kernel (one deep) with weights in registers where they fit; K = 0 is any
/// kernel.
template <class V, class From, int K>
struct Depthwise {
  static constexpr int kPixels = K == 3 ? 4 : 2;  // at a time, so that additions overlap
  const DepthwiseLine& t;
  int64_t row_stride = t.extents[2] * t.pixel_stride;

  int64_t taps_high() const { return K > 0 ? K : t.kernel[1]; }
  int64_t taps_wide() const { return K > 0 ? K : t.kernel[2]; }

  [[gnu::always_inline]] static V load(const float* p, int n) {
    return n >= V::kWidth ? V::load(p) : V::load(p, n);
  }
  [[gnu::always_inline]] static V load(const uint16_t* p, int n) {
    return n >= V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
  }

  [[gnu::always_inline]] void store(V x, int64_t pixel, int64_t c, int n) const {
    if (t.activation == RegisterActivation::clamp)
      x = min(V::broadcast(t.high), max(V::broadcast(t.low), x));
    else if (t.activation == RegisterActivation::hard_swish)
      x = vm::apply_unary(PointwiseFunction::k_hard_swish, x, 0.0f, 0.0f);
    const int64_t at = pixel * t.output_stride + c;
    if (t.output_type == ElementType::f32) {
      float* p = static_cast<float*>(t.output) + at;
      n >= V::kWidth ? x.store(p) : x.store(p, n);
    } else {
      uint16_t* p = static_cast<uint16_t*>(t.output) + at;
      n >= V::kWidth ? x.store_bf16(p) : x.store_bf16(p, n);
    }
  }

  const From* tap_row(int64_t d, int64_t h) const {
    return static_cast<const From*>(t.input) + (d * t.extents[1] + h) * row_stride;
  }

  /// Calls f(weights of the row of taps, input row) for every row of taps inside the image, in
  /// order.
  template <class F>
  [[gnu::always_inline]] void rows(F f) const {
    for (int64_t i = 0; i < (K > 0 ? 1 : t.kernel[0]); ++i) {
      const int64_t d = t.depth * t.stride[0] - t.pad[0] + i * t.dilation[0];
      if (static_cast<uint64_t>(d) >= uint64_t(t.extents[0])) continue;
      for (int64_t j = 0; j < taps_high(); ++j) {
        const int64_t h = t.height * t.stride[1] - t.pad[1] + j * t.dilation[1];
        if (static_cast<uint64_t>(h) >= uint64_t(t.extents[1])) continue;
        f(t.weights + (i * taps_high() + j) * taps_wide() * t.weight_stride, tap_row(d, h));
      }
    }
  }

  /// One pixel whose taps may lie outside.
  void border(int64_t pixel, int64_t c, int n, V bias) const {
    V sum = bias;
    rows([&](const float* w, const From* row) {
      for (int64_t k = 0; k < taps_wide(); ++k) {
        const int64_t x = pixel * t.stride[2] - t.pad[2] + k * t.dilation[2];
        if (static_cast<uint64_t>(x) >= uint64_t(t.extents[2])) continue;
        sum = fma(load(row + x * t.pixel_stride + c, n), V::load(w + k * t.weight_stride + c), sum);
      }
    });
    store(sum, pixel, c, n);
  }

  /// kPixels neighbouring pixels whose taps lie inside.
  template <bool kWhole>
  [[gnu::always_inline]] void inner(int64_t pixel, int64_t c, int n, V bias) const {
    V sum[kPixels];
#pragma GCC unroll 4
    for (int i = 0; i < kPixels; ++i) sum[i] = bias;
    const int64_t step = t.stride[2] * t.pixel_stride, tap = t.dilation[2] * t.pixel_stride;
    rows([&](const float* w, const From* row) {
      const From* from = row + (pixel * t.stride[2] - t.pad[2]) * t.pixel_stride + c;
      for (int64_t k = 0; k < taps_wide(); ++k) {
        const V weight = V::load(w + k * t.weight_stride + c);
#pragma GCC unroll 4
        for (int i = 0; i < kPixels; ++i)
          sum[i] = fma(load(from + i * step + k * tap, kWhole ? V::kWidth : n), weight, sum[i]);
      }
    });
#pragma GCC unroll 4
    for (int i = 0; i < kPixels; ++i) store(sum[i], pixel + i, c, kWhole ? V::kWidth : n);
  }

  void channels(int64_t c, int n, int64_t first, int64_t last) const {
    const V bias = t.bias == nullptr ? V::zero() : load(t.bias + c, n);
    int64_t pixel = 0;
    for (; pixel < first; ++pixel) border(pixel, c, n, bias);
    if (n >= V::kWidth) {
      for (; pixel + kPixels <= last; pixel += kPixels) inner<true>(pixel, c, n, bias);
    } else {
      for (; pixel + kPixels <= last; pixel += kPixels) inner<false>(pixel, c, n, bias);
    }
    for (; pixel < t.pixels; ++pixel) border(pixel, c, n, bias);
  }

  void all() const {
    // Pixels [first, last) have all their taps in a row inside.
    const int64_t window = (taps_wide() - 1) * t.dilation[2];
    int64_t first = (t.pad[2] + t.stride[2] - 1) / t.stride[2];
    if (first < 0) first = 0;
    if (first > t.pixels) first = t.pixels;
    const int64_t room = t.extents[2] + t.pad[2] - window - 1;
    int64_t last = room < 0 ? 0 : room / t.stride[2] + 1;
    if (last > t.pixels) last = t.pixels;
    for (int64_t c = 0; c < t.channels; c += V::kWidth) {
      const int64_t left = t.channels - c;
      channels(c, left < V::kWidth ? static_cast<int>(left) : V::kWidth, first, last);
    }
  }
};

template <class V, class From>
void depthwise_from(const DepthwiseLine& line) {
  const bool square = line.kernel[0] == 1 && line.kernel[1] == line.kernel[2];
  if (square && line.kernel[2] == 3) return Depthwise<V, From, 3>{line}.all();
  if (square && line.kernel[2] == 5) return Depthwise<V, From, 5>{line}.all();
  Depthwise<V, From, 0>{line}.all();
}

template <class V>
void depthwise(const DepthwiseLine& line) {
  line.input_type == ElementType::f32 ? depthwise_from<V, float>(line)
                                      : depthwise_from<V, uint16_t>(line);
}

}  // namespace
}  // namespace tenon::cpu
