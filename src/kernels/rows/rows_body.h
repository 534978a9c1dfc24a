#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/epilogue/finish.h"
#include "kernels/rows/rows.h"
#include "kernels/vector_math/activations.h"

/// Row kernels over a vector type V of kernels/vector_math.
namespace tenon::cpu::rows_detail {

template <class V>
[[gnu::always_inline]] inline V load(ElementType type, const void* base, int64_t at, int n) {
  if (type == ElementType::f32) {
    const float* p = static_cast<const float*>(base) + at;
    return n == V::kWidth ? V::load(p) : V::load(p, n);
  }
  const uint16_t* p = static_cast<const uint16_t*>(base) + at;
  return n == V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
}

template <class V>
[[gnu::always_inline]] inline void store(ElementType type, void* base, int64_t at, V x, int n) {
  if (type == ElementType::f32)
    x.store(static_cast<float*>(base) + at, n);
  else
    x.store_bf16(static_cast<uint16_t*>(base) + at, n);
}

template <class V> int width_at(int64_t i, int64_t n) {
  return static_cast<int>(std::min<int64_t>(V::kWidth, n - i));
}

/// By halves: one lane after the other would wait for each sum, which rows of few elements notice.
template <class V> float sum_lanes(V v) {
  float lanes[V::kWidth];
  v.store(lanes, V::kWidth);
  for (int half = V::kWidth / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

template <class V> [[gnu::always_inline]] inline V apply_steps(V x, const UnarySteps& steps) {
  for (const EpilogueStep& step : steps) {
    if (vector_math::has_vector_form(step.function)) {
      x = vector_math::apply_unary(step.function, x, step.alpha, step.beta);
      continue;
    }
    float lanes[V::kWidth];
    x.store(lanes, V::kWidth);
    for (float& lane : lanes) lane = apply_scalar(step.function, lane, 0, step.alpha, step.beta);
    x = V::load(lanes);
  }
  return x;
}

/// Largest element; NaN is left out here and comes back through the sum.
template <class V> float largest(ElementType type, const void* x, int64_t n) {
  float top = -std::numeric_limits<float>::infinity();
  V tops = V::broadcast(top);
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) tops = max(load<V>(type, x, i, V::kWidth), tops);
  float lanes[V::kWidth];
  tops.store(lanes, V::kWidth);
  for (const float lane : lanes) top = std::max(top, lane);
  if (i < n) {
    load<V>(type, x, i, width_at<V>(i, n)).store(lanes, V::kWidth);
    for (int k = 0; k < n - i; ++k) top = std::max(top, lanes[k]);
  }
  return top;
}

template <class V> void softmax(ElementType type, const void* x, void* y, int64_t n, bool log) {
  const V top = V::broadcast(largest<V>(type, x, n));
  V sums = V::zero();
  float tail = 0;
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int w = width_at<V>(i, n);
    const V e = vector_math::exp_of_share(load<V>(type, x, i, w) - top);
    if (!log) store(type, y, i, e, w);
    if (w == V::kWidth) {
      sums = sums + e;
    } else {
      float lanes[V::kWidth];
      e.store(lanes, V::kWidth);
      for (int k = 0; k < w; ++k) tail += lanes[k];
    }
  }
  const float sum = sum_lanes(sums) + tail;
  const V factor = V::broadcast(1 / sum), shift = V::broadcast(std::log(sum));
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int w = width_at<V>(i, n);
    if (log)
      store(type, y, i, load<V>(type, x, i, w) - top - shift, w);
    else if (type == ElementType::f32)
      store(type, y, i, load<V>(type, y, i, w) * factor, w);
    else  // The stored values are rounded: compute them again.
      store(type, y, i, vector_math::exp_of_share(load<V>(type, x, i, w) - top) * factor, w);
  }
}

template <class V>
void softmax_columns(ElementType type, const void* x, void* y, int64_t n, int64_t x_step,
                     int64_t y_step, int64_t columns, bool log) {
  for (int64_t c = 0; c < columns; c += V::kWidth) {
    const int w = width_at<V>(c, columns);
    V top = V::broadcast(-std::numeric_limits<float>::infinity()), sum = V::zero();
    for (int64_t i = 0; i < n; ++i) top = max(load<V>(type, x, i * x_step + c, w), top);
    for (int64_t i = 0; i < n; ++i) {
      const V e = vector_math::exp_of_share(load<V>(type, x, i * x_step + c, w) - top);
      // Values stored in bf16 are rounded: they are computed again.
      if (!log && type == ElementType::f32) store(type, y, i * y_step + c, e, w);
      sum = sum + e;
    }
    const V factor = V::broadcast(1.0f) / sum, shift = vector_math::log(sum);
    for (int64_t i = 0; i < n; ++i) {
      V result;
      if (!log && type == ElementType::f32) {
        result = load<V>(type, y, i * y_step + c, w) * factor;
      } else {
        const V centred = load<V>(type, x, i * x_step + c, w) - top;
        result = log ? centred - shift : vector_math::exp_of_share(centred) * factor;
      }
      store(type, y, i * y_step + c, result, w);
    }
  }
}

template <class V>
void normalize(ElementType type, const void* x, void* y, int64_t n, const float* scale,
               const float* bias, float epsilon, bool rms, const UnarySteps& steps, float* buffer) {
  V sums = V::zero();
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int w = width_at<V>(i, n);
    const V v = load<V>(type, x, i, w);  // Zero behind the end.
    v.store(buffer + i, w);
    sums = sums + v;
  }
  const float mean = rms ? 0.0f : sum_lanes(sums) / static_cast<float>(n);
  const V centre = V::broadcast(mean);
  V squares = V::zero();
  float tail = 0;
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int w = width_at<V>(i, n);
    const V d = V::load(buffer + i, w) - centre;
    if (w == V::kWidth)
      squares = fma(d, d, squares);
    else
      for (int64_t k = i; k < n; ++k) tail += (buffer[k] - mean) * (buffer[k] - mean);
  }
  const float variance = (sum_lanes(squares) + tail) / static_cast<float>(n);
  const V inverse = V::broadcast(1 / std::sqrt(variance + epsilon));
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int w = width_at<V>(i, n);
    V v = (V::load(buffer + i, w) - centre) * inverse;
    if (scale != nullptr) v = v * V::load(scale + i, w);
    if (bias != nullptr) v = v + V::load(bias + i, w);
    store(type, y, i, apply_steps(v, steps), w);
  }
}

template <class V>
void moments(ElementType type, const void* x, int64_t pixels, int64_t pixel_stride,
             int64_t channels, float* sums, float* squares) {
  for (int64_t c = 0; c < channels; c += V::kWidth) {
    const int w = width_at<V>(c, channels);
    V sum = V::load(sums + c, w), square = V::load(squares + c, w);
    for (int64_t p = 0; p < pixels; ++p) {
      const V v = load<V>(type, x, p * pixel_stride + c, w);
      sum = sum + v;
      square = fma(v, v, square);
    }
    sum.store(sums + c, w);
    square.store(squares + c, w);
  }
}

template <class V>
void scale_pixels(ElementType type, const void* x, void* y, int64_t pixels, int64_t x_stride,
                  int64_t y_stride, int64_t channels, const float* factor, const float* shift,
                  const UnarySteps& steps) {
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t c = 0; c < channels; c += V::kWidth) {
      const int w = width_at<V>(c, channels);
      const V v =
          fma(load<V>(type, x, p * x_stride + c, w), V::load(factor + c, w), V::load(shift + c, w));
      store(type, y, p * y_stride + c, apply_steps(v, steps), w);
    }
}

/// f(x) summed over a row; f(0) is 0.
template <class V, class F> float sum_of(ElementType type, const void* x, int64_t n, F f) {
  V sums = V::zero();
  for (int64_t i = 0; i < n; i += V::kWidth)
    sums = sums + f(load<V>(type, x, i, width_at<V>(i, n)));
  return sum_lanes(sums);
}

/// sum(exp(x - largest)).
template <class V> float sum_exp(ElementType type, const void* x, int64_t n, float largest) {
  const V shift = V::broadcast(largest);
  const int64_t whole = n / V::kWidth * V::kWidth;
  float sum = sum_of<V>(type, x, whole, [&](V v) { return vector_math::exp(v - shift); });
  float rest[V::kWidth];
  if (whole < n) load<V>(type, x, whole, width_at<V>(whole, n)).store(rest, V::kWidth);
  for (int64_t i = whole; i < n; ++i) sum += std::exp(rest[i - whole] - largest);
  return sum;
}

/// log(sum(exp(x))), with the largest element taken out.
template <class V> float log_sum_exp(ElementType type, const void* x, int64_t n, float largest) {
  if (!(largest - largest == 0)) return largest;  // Infinite or NaN.
  return largest + std::log(sum_exp<V>(type, x, n, largest));
}

template <class V>
void shares(ElementType type, const void* x, int64_t n, float largest, void* values, int64_t count,
            bool log) {
  const float sum = sum_exp<V>(type, x, n, largest);
  const V top = V::broadcast(largest), factor = V::broadcast(1 / sum);
  const V all = V::broadcast(std::log(sum));
  for (int64_t i = 0; i < count; i += V::kWidth) {
    const int w = width_at<V>(i, count);
    const V v = load<V>(type, values, i, w) - top;
    store(type, values, i, log ? v - all : vector_math::exp(v) * factor, w);
  }
}

/// `top` where it is not a number, else the larger one; `x` may be none either.
template <class V> [[gnu::always_inline]] inline V larger(V top, V x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const V larger = max(top, x), least = V::broadcast(-kInfinity);
  return select(top < V::broadcast(kInfinity), larger, select(least < top, larger, top));
}

/// The largest element times `sign`; NaN wins.
template <class V> float extreme(ElementType type, const void* x, int64_t n, float sign) {
  const V factor = V::broadcast(sign);
  const int64_t whole = n / V::kWidth * V::kWidth;
  float lanes[2 * V::kWidth];
  int count = 0;
  if (whole > 0) {
    V tops = load<V>(type, x, 0, V::kWidth) * factor;
    for (int64_t i = V::kWidth; i < whole; i += V::kWidth)
      tops = larger(tops, load<V>(type, x, i, V::kWidth) * factor);
    tops.store(lanes, V::kWidth);
    count = V::kWidth;
  }
  if (whole < n) {
    const int rest = width_at<V>(whole, n);
    (load<V>(type, x, whole, rest) * factor).store(lanes + count, V::kWidth);
    count += rest;
  }
  // By halves: one lane after the other would wait for each comparison.
  for (; count > 1; count = (count + 1) / 2)
    for (int k = 0, half = (count + 1) / 2; k + half < count; ++k)
      if (lanes[k + half] > lanes[k] || lanes[k + half] != lanes[k + half])
        lanes[k] = lanes[k + half];
  return lanes[0];
}

template <class V> float reduce(ElementType type, const void* x, int64_t n, RowReduction function) {
  if (function == RowReduction::sum) return sum_of<V>(type, x, n, [](V v) { return v; });
  if (function == RowReduction::sum_magnitudes)
    return sum_of<V>(type, x, n, [](V v) { return abs(v); });
  if (function == RowReduction::sum_squares)
    return sum_of<V>(type, x, n, [](V v) { return v * v; });
  if (function == RowReduction::log_sum_exp)
    return log_sum_exp<V>(type, x, n, reduce<V>(type, x, n, RowReduction::max));
  return function == RowReduction::max ? extreme<V>(type, x, n, 1) : -extreme<V>(type, x, n, -1);
}

template <class V> [[gnu::always_inline]] inline V folded(RowReduction function, V sum, V x) {
  switch (function) {
    case RowReduction::sum_magnitudes: return sum + abs(x);
    case RowReduction::sum_squares: return fma(x, x, sum);
    case RowReduction::max: return larger(sum, x);
    case RowReduction::min: return V::zero() - larger(V::zero() - sum, V::zero() - x);
    default: return sum + x;
  }
}

template <class Read, class Fold>
void fold_rows(int64_t rows, int64_t n, float* results, Read read, Fold fold) {
  for (int64_t r = 0; r < rows; ++r) {
    float folded = fold.start;
    for (int64_t i = r * n; i < (r + 1) * n; ++i) folded = fold(folded, read(i));
    results[r] = folded;
  }
}

template <class Read>
void fold_rows_by(RowReduction function, int64_t rows, int64_t n, float* results, Read read) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Sum {
    float start = 0;
    float operator()(float sum, float x) const { return sum + x; }
  };
  struct Magnitudes {
    float start = 0;
    float operator()(float sum, float x) const { return sum + std::abs(x); }
  };
  struct Squares {
    float start = 0;
    float operator()(float sum, float x) const { return sum + x * x; }
  };
  struct Most {
    float start = -kInfinity;
    float operator()(float top, float x) const { return x > top || x != x ? x : top; }
  };
  struct Least {
    float start = kInfinity;
    float operator()(float top, float x) const { return x < top || x != x ? x : top; }
  };
  switch (function) {
    case RowReduction::sum_magnitudes: return fold_rows(rows, n, results, read, Magnitudes{});
    case RowReduction::sum_squares: return fold_rows(rows, n, results, read, Squares{});
    case RowReduction::max: return fold_rows(rows, n, results, read, Most{});
    case RowReduction::min: return fold_rows(rows, n, results, read, Least{});
    default: return fold_rows(rows, n, results, read, Sum{});
  }
}

/// Without vectors, whose lanes would be empty for the most part.
template <class V>
void reduce_short(ElementType type, const void* x, int64_t rows, int64_t n, RowReduction function,
                  float* results) {
  if (type == ElementType::f32)
    return fold_rows_by(function, rows, n, results,
                        [x](int64_t i) { return static_cast<const float*>(x)[i]; });
  fold_rows_by(function, rows, n, results, [x](int64_t i) {
    const auto bits = static_cast<uint32_t>(static_cast<const uint16_t*>(x)[i]) << 16;
    return std::bit_cast<float>(bits);
  });
}

/// A few rows at a time, whole: a column at a time would jump from row to row.
template <class V>
void reduce_columns(ElementType type, const void* x, int64_t rows, int64_t step, int64_t columns,
                    RowReduction function, float* sums) {
  constexpr int64_t kRows = 4;
  for (int64_t first = 0; first < rows; first += kRows) {
    const int64_t last = std::min(rows, first + kRows);
    for (int64_t c = 0; c < columns; c += V::kWidth) {
      const int w = width_at<V>(c, columns);
      V sum = V::load(sums + c, w);
      for (int64_t r = first; r < last; ++r)
        sum = folded(function, sum, load<V>(type, x, r * step + c, w));
      sum.store(sums + c, w);
    }
  }
}

template <class V> float spread(ElementType type, const void* x, int64_t n, float centre) {
  V squares = V::zero();
  const V middle = V::broadcast(centre);
  const int64_t whole = n / V::kWidth * V::kWidth;
  for (int64_t i = 0; i < whole; i += V::kWidth) {
    const V d = load<V>(type, x, i, V::kWidth) - middle;
    squares = fma(d, d, squares);
  }
  float lanes[V::kWidth], tail = 0;
  if (whole < n) (load<V>(type, x, whole, width_at<V>(whole, n)) - middle).store(lanes, V::kWidth);
  for (int64_t i = whole; i < n; ++i) tail += lanes[i - whole] * lanes[i - whole];
  return sum_lanes(squares) + tail;
}

template <class V>
void scale_row(ElementType type, const void* x, void* y, int64_t n, float factor, float shift,
               const UnarySteps& steps) {
  const V f = V::broadcast(factor), s = V::broadcast(shift);
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int w = width_at<V>(i, n);
    store(type, y, i, apply_steps(fma(load<V>(type, x, i, w), f, s), steps), w);
  }
}

template <class V> const RowFunctions& functions() {
  static constexpr RowFunctions kFunctions{softmax<V>,      softmax_columns<V>, normalize<V>,
                                           moments<V>,      scale_pixels<V>,    reduce<V>,
                                           reduce_short<V>, shares<V>,          reduce_columns<V>,
                                           spread<V>,       scale_row<V>};
  return kFunctions;
}

}  // namespace tenon::cpu::rows_detail
