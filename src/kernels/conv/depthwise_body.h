#pragma once

#include "device/cpu/prefetch.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/tap_rows.h"
#include "kernels/vector_math/activations.h"

/// The DepthwiseFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

namespace vm = vector_math;

/// Rows of the input under one line of output, those inside the image only, with the weights of
/// their taps.
template <class From> struct TapRows {
  static constexpr int kMost = kMaxDepthwiseRows;
  int count = 0;
  const From* input[kMost];
  const float* weights[kMost];

  void find(const DepthwiseLine& t) {
    for_rows_inside(t, [&](int64_t i, int64_t j, int64_t d, int64_t h) {
      const int64_t line = t.ring > 0 ? h % t.ring : d * t.extents[1] + h;
      input[count] = static_cast<const From*>(t.input) + line * t.extents[2] * t.pixel_stride;
      weights[count++] = t.weights + (i * t.kernel[1] + j) * t.kernel[2] * t.weight_stride;
    });
  }
};

template <class V, class From> struct Depthwise {
  const DepthwiseLine& t;
  const TapRows<From>& rows;

  [[gnu::always_inline]] static V load(const float* p, int n) {
    return n >= V::kWidth ? V::load(p) : V::load(p, n);
  }
  [[gnu::always_inline]] static V load(const uint16_t* p, int n) {
    return n >= V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
  }

  /// The compiler computes no addresses from where the pointer came from: those of all pixels of a
  /// block would not fit in its registers.
  template <class T> [[gnu::always_inline]] static T* moved(T* p, int64_t elements) {
    p += elements;
    asm("" : "+r"(p));
    return p;
  }

  /// Loaded once for all its products: a multiplication that reads memory itself would load again.
  [[gnu::always_inline]] static V loaded(const From* from, int n) {
    V x = load(from, n);
#if defined(__x86_64__)
    asm("" : "+x"(x.v));
#endif
    return x;
  }

  template <int P> [[gnu::always_inline]] void activate(V (&x)[P]) const {
    if (t.activation == RegisterActivation::clamp) {
      const V low = V::broadcast(t.low), high = V::broadcast(t.high);
#pragma GCC unroll 16
      for (int i = 0; i < P; ++i) x[i] = max(low, x[i]);
      if (t.high == __builtin_inff()) return;  // ReLU: half of the work
#pragma GCC unroll 16
      for (int i = 0; i < P; ++i) x[i] = min(high, x[i]);
    } else if (t.activation == RegisterActivation::hard_swish) {
#pragma GCC unroll 16
      for (int i = 0; i < P; ++i)
        x[i] = vm::apply_unary(PointwiseFunction::k_hard_swish, x[i], 0.0f, 0.0f);
    }
  }

  [[gnu::always_inline]] static void put(V x, float* to, int n) {
    n >= V::kWidth ? x.store(to) : x.store(to, n);
  }
  [[gnu::always_inline]] static void put(V x, uint16_t* to, int n) {
    n >= V::kWidth ? x.store_bf16(to) : x.store_bf16(to, n);
  }

  template <class To, int P>
  [[gnu::always_inline]] void put_all(const V (&x)[P], int64_t at, int n) const {
    To* to = static_cast<To*>(t.output) + at;
    const int64_t step = t.output_stride;
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i, to = moved(to, step)) put(x[i], to, n);
  }

  /// Stores to lines in no near cache would wait for them one after the other.
  template <int P> [[gnu::always_inline]] void fetch_output(int64_t pixel, int64_t c) const {
    const int64_t size = t.output_type == ElementType::f32 ? sizeof(float) : sizeof(uint16_t);
    const char* to = static_cast<const char*>(t.output) + (pixel * t.output_stride + c) * size;
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i, to = moved(to, t.output_stride * size)) prefetch_for_writing(to);
  }

  /// The sums of neighbouring pixels.
  template <int P>
  [[gnu::always_inline]] void store(V (&x)[P], int64_t pixel, int64_t c, int n) const {
    activate(x);
    const int64_t at = pixel * t.output_stride + c;
    t.output_type == ElementType::f32 ? put_all<float>(x, at, n) : put_all<uint16_t>(x, at, n);
  }

  [[gnu::always_inline]] static V masked(const float* p, int n) {
    return V::load(p, n);
  }
  [[gnu::always_inline]] static V masked(const uint16_t* p, int n) {
    return V::load_bf16(p, n);
  }

  /// P pixels with any kernel, whose taps may lie outside: together, so that their sums need not
  /// wait for themselves.
  template <int P> void any(const int64_t* pixels, int64_t c, int n, V bias) const {
    V sums[P];
    int64_t first[P];
#pragma GCC unroll 4
    for (int i = 0; i < P; ++i) {
      sums[i] = bias;
      first[i] = pixels[i] * t.stride[2] - t.pad[2];
    }
    for (int r = 0; r < rows.count; ++r) {
      const From* from = rows.input[r] + c;
      const float* weights = rows.weights[r] + c;
      for (int64_t k = 0; k < t.kernel[2]; ++k) {
        const V w = V::load(weights + k * t.weight_stride);
#pragma GCC unroll 4
        for (int i = 0; i < P; ++i) {
          const int64_t at = first[i] + k * t.dilation[2];
          const bool inside = static_cast<uint64_t>(at) < uint64_t(t.extents[2]);
          const V x = masked(from + (inside ? at * t.pixel_stride : 0), inside ? n : 0);
          sums[i] = fma(x, w, sums[i]);
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < P; ++i) {
      V one[1] = {sums[i]};
      store(one, pixels[i], c, n);
    }
  }

  /// The pixels in front of `first` and from `last` on.
  void borders(int64_t c, int n, V bias, int64_t first, int64_t last) const {
    constexpr int kTogether = 4;
    const int64_t count = t.pixels - (last - first);
    for (int64_t at = 0; at < count; at += kTogether) {
      int64_t pixels[kTogether];
      const int64_t left = count - at;
      for (int i = 0; i < kTogether; ++i) {
        const int64_t index = i < left ? at + i : at;  // any one where they are fewer
        pixels[i] = index < first ? index : index - first + last;
      }
      if (left == 1)
        any<1>(pixels, c, n, bias);
      else if (left == 2)
        any<2>(pixels, c, n, bias);
      else
        any<kTogether>(pixels, c, n, bias);
    }
  }

  /// K taps of a row for P neighbouring pixels; `from` is the first pixel's first tap. kStride: the
  /// pixels' where taps lie side by side, or 0 for any.
  template <int K, int P, int kStride, bool kFull>
  [[gnu::always_inline]] void taps(const From* from, const float* weights, int n,
                                   V (&sum)[P]) const {
    const int64_t step = t.stride[2] * t.pixel_stride, tap = t.dilation[2] * t.pixel_stride;
    V w[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) w[k] = V::load(weights + k * t.weight_stride);
    if constexpr (kStride > 0) {
      // Neighbours share their inputs: each is loaded once.
#pragma GCC unroll 40
      for (int q = 0; q < (P - 1) * kStride + K; ++q, from = moved(from, t.pixel_stride)) {
        const V x = loaded(from, kFull ? V::kWidth : n);
#pragma GCC unroll 8
        for (int k = q % kStride; k < K; k += kStride) {
          const int i = (q - k) / kStride;
          if (q >= k && i < P) sum[i] = fma(x, w[k], sum[i]);
        }
      }
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < P; ++i, from = moved(from, step))
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k)
          sum[i] = fma(load(from + k * tap, kFull ? V::kWidth : n), w[k], sum[i]);
    }
  }

  /// Rows of any length, a few taps at a time.
  template <int P, int kStride, bool kFull>
  [[gnu::always_inline]] void any_taps(const From* from, const float* weights, int n,
                                       V (&sum)[P]) const {
    constexpr int kTogether = 4;
    int64_t left = t.kernel[2];
    for (; left >= kTogether; left -= kTogether) {
      taps<kTogether, P, kStride, kFull>(from, weights, n, sum);
      from += kTogether * t.dilation[2] * t.pixel_stride;
      weights += kTogether * t.weight_stride;
    }
    if (left == 3)
      taps<3, P, kStride, kFull>(from, weights, n, sum);
    else if (left == 2)
      taps<2, P, kStride, kFull>(from, weights, n, sum);
    else if (left == 1)
      taps<1, P, kStride, kFull>(from, weights, n, sum);
  }

  /// P neighbouring pixels of rows of K taps (0: any number), all inside: so many sums that none
  /// waits for itself.
  template <int K, int P, int kStride, bool kFull>
  [[gnu::always_inline]] void inner(int64_t pixel, int64_t c, int n, V bias) const {
    V sum[P];
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i) sum[i] = bias;
    fetch_output<P>(pixel + P, c);
    const int64_t first = (pixel * t.stride[2] - t.pad[2]) * t.pixel_stride + c;
    for (int r = 0; r < rows.count; ++r) {
      const From* from = rows.input[r] + first;
      if constexpr (K > 0)
        taps<K, P, kStride, kFull>(from, rows.weights[r] + c, n, sum);
      else
        any_taps<P, kStride, kFull>(from, rows.weights[r] + c, n, sum);
    }
    store(sum, pixel, c, kFull ? V::kWidth : n);
  }

  /// With the taps of a row and a vector of each pixel in registers.
  static constexpr int kMostPixels = V::kWidth >= 16 ? 14 : V::kWidth > 1 ? 8 : 4;

  /// Pixels [first, last), P at a time; the last ones again where they are no multiple.
  template <int K, int P, int kStride, bool kFull>
  void in_steps(int64_t c, int n, V bias, int64_t first, int64_t last) const {
    for (int64_t pixel = first; pixel < last; pixel += P)
      inner<K, P, kStride, kFull>(pixel + P <= last ? pixel : last - P, c, n, bias);
  }

  template <int K, int kStride, bool kFull>
  void fast(int64_t c, int n, V bias, int64_t first, int64_t last) const {
    constexpr int kMost = kMostPixels, kHalf = kMost / 2, kFew = kMost / 4;
    const int64_t count = last - first;
    if (count >= kMost)
      in_steps<K, kMost, kStride, kFull>(c, n, bias, first, last);
    else if (count >= kHalf)
      in_steps<K, kHalf, kStride, kFull>(c, n, bias, first, last);
    else if (count >= kFew)
      in_steps<K, kFew, kStride, kFull>(c, n, bias, first, last);
    else
      in_steps<K, 1, kStride, kFull>(c, n, bias, first, last);
  }

  template <int K, int kStride>
  void strided(int64_t c, int n, V bias, int64_t first, int64_t last) const {
    n >= V::kWidth ? fast<K, kStride, true>(c, n, bias, first, last)
                   : fast<K, kStride, false>(c, n, bias, first, last);
  }

  template <int K> void fast_taps(int64_t c, int n, V bias, int64_t first, int64_t last) const {
    const int64_t stride = t.dilation[2] == 1 ? t.stride[2] : 0;
    if (stride == 1)
      strided<K, 1>(c, n, bias, first, last);
    else if (stride == 2)
      strided<K, 2>(c, n, bias, first, last);
    else
      strided<K, 0>(c, n, bias, first, last);
  }

  void fast_pixels(int64_t c, int n, V bias, int64_t first, int64_t last) const {
    switch (t.kernel[2]) {
      case 3: return fast_taps<3>(c, n, bias, first, last);
      case 5: return fast_taps<5>(c, n, bias, first, last);
      case 7: return fast_taps<7>(c, n, bias, first, last);
      default: return fast_taps<0>(c, n, bias, first, last);
    }
  }

  void channels(int64_t c, int n, int64_t first, int64_t last) const {
    const V bias = t.bias == nullptr ? V::zero() : load(t.bias + c, n);
    fast_pixels(c, n, bias, first, last);
    borders(c, n, bias, first, last);
  }

  void all() const {
    // Pixels [first, last) have all their taps in a row inside.
    const int64_t window = (t.kernel[2] - 1) * t.dilation[2];
    int64_t first = (t.pad[2] + t.stride[2] - 1) / t.stride[2];
    if (first < 0) first = 0;
    if (first > t.pixels) first = t.pixels;
    const int64_t room = t.extents[2] + t.pad[2] - window - 1;
    int64_t last = room < 0 ? 0 : room / t.stride[2] + 1;
    if (last > t.pixels) last = t.pixels;
    if (last < first) last = first;
    for (int64_t c = 0; c < t.channels; c += V::kWidth) {
      const int64_t left = t.channels - c;
      channels(c, left < V::kWidth ? static_cast<int>(left) : V::kWidth, first, last);
    }
  }
};

template <class V, class From> void depthwise_from(const DepthwiseLine& line) {
  TapRows<From> rows;
  rows.find(line);
  Depthwise<V, From>{line, rows}.all();
}

template <class V> void depthwise(const DepthwiseLine& line) {
  line.input_type == ElementType::f32 ? depthwise_from<V, float>(line)
                                      : depthwise_from<V, uint16_t>(line);
}

}  // namespace
}  // namespace tenon::cpu
