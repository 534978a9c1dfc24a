#pragma once

#include <algorithm>
#include <bit>

#include "kernels/fourier/fft.h"

/// Fourier transforms over a vector type V of kernels/vector_math, a line a lane.
namespace tenon::cpu {
namespace {

/// A line's numbers in the scratch: vectors of real and imaginary parts.
template <class V> struct Complex {
  V re, im;

  [[gnu::always_inline]] static Complex load(const float* line, int64_t k) {
    const float* at = line + k * 2 * V::kWidth;
    return {V::load(at), V::load(at + V::kWidth)};
  }
  [[gnu::always_inline]] void store(float* line, int64_t k) const {
    float* at = line + k * 2 * V::kWidth;
    re.store(at), im.store(at + V::kWidth);
  }
  /// Of a table of pairs.
  [[gnu::always_inline]] static Complex at(const std::vector<float>& table, int64_t k) {
    return {V::broadcast(table[2 * k]), V::broadcast(table[2 * k + 1])};
  }

  [[gnu::always_inline]] friend Complex operator+(Complex a, Complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  [[gnu::always_inline]] friend Complex operator-(Complex a, Complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  [[gnu::always_inline]] friend Complex operator*(Complex a, Complex b) {
    return {fma(a.re, b.re, V::zero() - a.im * b.im), fma(a.re, b.im, a.im * b.re)};
  }
  [[gnu::always_inline]] friend Complex operator*(Complex a, V b) { return {a.re * b, a.im * b}; }
  [[gnu::always_inline]] Complex conjugate() const { return {re, V::zero() - im}; }
  [[gnu::always_inline]] Complex times_i() const { return {V::zero() - im, re}; }
};

/// One pass of Stockham's order, which needs no reversal of places: `stride` is the product of the
/// factors of earlier passes.
template <class V> struct Pass {
  const FourierPasses& passes;
  int64_t factor, stride;
  const float* from;
  float* to;

  int64_t step() const { return passes.length / factor; }

  /// Of as many numbers as a small factor has, in registers.
  template <int kFactor> void run() const {
    // Factors of the numbers' sums, the same for all.
    Complex<V> own[kFactor];
    for (int k = 0; k < kFactor; ++k) own[k] = Complex<V>::at(passes.roots, step() * k);
    for (int64_t p = 0; p < step() / stride; ++p) {
      Complex<V> turns[kFactor];
      for (int k = 0; k < kFactor; ++k) turns[k] = Complex<V>::at(passes.roots, stride * p * k);
      for (int64_t q = 0; q < stride; ++q) {
        Complex<V> v[kFactor];
        for (int j = 0; j < kFactor; ++j)
          v[j] = Complex<V>::load(from, p * stride + q + step() * j);
        transform(v, own);
        v[0].store(to, q + stride * kFactor * p);
        for (int k = 1; k < kFactor; ++k)
          (v[k] * turns[k]).store(to, q + stride * (k + kFactor * p));
      }
    }
  }

  template <size_t kFactor>
  [[gnu::always_inline]] void transform(Complex<V> (&v)[kFactor],
                                        const Complex<V> (&own)[kFactor]) const {
    if constexpr (kFactor == 2) {
      const Complex<V> sum = v[0] + v[1];
      v[1] = v[0] - v[1], v[0] = sum;
    } else if constexpr (kFactor == 4) {
      const Complex<V> even = v[0] + v[2], other = v[0] - v[2], odd = v[1] + v[3];
      const Complex<V> turned = (passes.inverse ? v[1] - v[3] : v[3] - v[1]).times_i();
      v[0] = even + odd, v[1] = other + turned, v[2] = even - odd, v[3] = other - turned;
    } else {
      Complex<V> sums[kFactor];
      for (size_t k = 0; k < kFactor; ++k) {
        sums[k] = v[0];
        for (size_t j = 1; j < kFactor; ++j) sums[k] = sums[k] + v[j] * own[j * k % kFactor];
      }
      for (size_t k = 0; k < kFactor; ++k) v[k] = sums[k];
    }
  }

  /// Of any factor: as many products as it is large for each number.
  void run_any() const {
    for (int64_t p = 0; p < step() / stride; ++p)
      for (int64_t k = 0; k < factor; ++k) {
        const Complex<V> turn = Complex<V>::at(passes.roots, stride * p * k);
        for (int64_t q = 0; q < stride; ++q) {
          Complex<V> sum = Complex<V>::load(from, p * stride + q);
          for (int64_t j = 1, root = k; j < factor; ++j) {
            sum = sum + Complex<V>::load(from, p * stride + q + step() * j) *
                            Complex<V>::at(passes.roots, step() * root);
            root += k;
            if (root >= factor) root -= factor;
          }
          (sum * turn).store(to, q + stride * (k + factor * p));
        }
      }
  }
};

/// The passes from one half of the scratch to the other and back; where the result lies.
template <class V> float* transform_lines(const FourierPasses& passes, float* from, float* to) {
  int64_t stride = 1;
  for (const int64_t factor : passes.factors) {
    const Pass<V> pass{passes, factor, stride, from, to};
    switch (factor) {
      case 2: pass.template run<2>(); break;
      case 3: pass.template run<3>(); break;
      case 4: pass.template run<4>(); break;
      case 5: pass.template run<5>(); break;
      default: pass.run_any();
    }
    stride *= factor;
    std::swap(from, to);
  }
  return from;
}

[[gnu::always_inline]] inline float number(float x) {
  return x;
}
[[gnu::always_inline]] inline float number(uint16_t x) {
  return std::bit_cast<float>(uint32_t{x} << 16);
}

/// Elements of lines between memory and vectors of a lane each.
template <class V> struct Lanes {
  static constexpr int kWidth = V::kWidth;

  static V load(const float* p) { return V::load(p); }
  static V load(const uint16_t* p) { return V::load_bf16(p); }
  static void store(V v, float* p, int n) { v.store(p, n); }
  static void store(V v, uint16_t* p, int n) { v.store_bf16(p, n); }

  static bool follow_each_other(const int64_t* places) {
    for (int lane = 1; lane < kWidth; ++lane)
      if (places[lane] != places[0] + lane) return false;
    return kWidth > 1;
  }

  /// `count` elements of each line, `step` apart, to vectors `to_step` vectors apart.
  template <class T>
  static void gather(const T* x, const int64_t* places, int64_t step, int64_t count, float* to,
                     int64_t to_step) {
    int64_t k = 0;
    if (step == 1 && kWidth > 1) {
      for (; k + kWidth <= count; k += kWidth) {
        V rows[kWidth];
        for (int lane = 0; lane < kWidth; ++lane) rows[lane] = load(x + places[lane] + k);
        V::transpose(rows);
        for (int i = 0; i < kWidth; ++i) rows[i].store(to + (k + i) * to_step * kWidth);
      }
    } else if (follow_each_other(places)) {
      for (; k < count; ++k) load(x + places[0] + k * step).store(to + k * to_step * kWidth);
    }
    for (; k < count; ++k)
      for (int lane = 0; lane < kWidth; ++lane)
        to[k * to_step * kWidth + lane] = number(x[places[lane] + k * step]);
  }

  /// The reverse, for the first `lanes` of the lines.
  template <class T>
  static void scatter(const float* from, int64_t from_step, int64_t count, int lanes, T* y,
                      const int64_t* places, int64_t step) {
    int64_t k = 0;
    if (step == 1 && kWidth > 1) {
      for (; k + kWidth <= count; k += kWidth) {
        V rows[kWidth];
        for (int i = 0; i < kWidth; ++i) rows[i] = V::load(from + (k + i) * from_step * kWidth);
        V::transpose(rows);
        for (int lane = 0; lane < lanes; ++lane) store(rows[lane], y + places[lane] + k, kWidth);
      }
    } else if (lanes == kWidth && follow_each_other(places)) {
      for (; k < count; ++k)
        store(V::load(from + k * from_step * kWidth), y + places[0] + k * step, kWidth);
    }
    for (; k < count; ++k)
      for (int lane = 0; lane < lanes; ++lane)
        store_one(from[k * from_step * kWidth + lane], y + places[lane] + k * step);
  }
  static void store_one(float x, float* to) { *to = x; }
  static void store_one(float x, uint16_t* to) { V::broadcast(x).store_bf16(to, 1); }

  /// Elements of parts that follow each other are one row of twice as many.
  template <class T>
  static void gather_parts(const FourierGroup& g, const T* x, const int64_t* places, float* to) {
    const FourierLines& l = g.problem.lines;
    const int64_t count = g.problem.read();
    if (l.in_part == 1 && l.in_step == l.in_parts)
      return gather(x, places, 1, count * l.in_parts, to, 1);
    for (int64_t part = 0; part < l.in_parts; ++part)
      gather(x + part * l.in_part, places, l.in_step, count, to + part * kWidth, l.in_parts);
  }
  template <class T>
  static void scatter_parts(const FourierGroup& g, const float* from, int lanes, T* y,
                            const int64_t* places) {
    const FourierLines& l = g.problem.lines;
    if (l.out_part == 1 && l.out_step == l.out_parts)
      return scatter(from, 1, l.results * l.out_parts, lanes, y, places, 1);
    for (int64_t part = 0; part < l.out_parts; ++part)
      scatter(from + part * kWidth, l.out_parts, l.results, lanes, y + part * l.out_part, places,
              l.out_step);
  }

  /// Number k of a half's staged line, or 0 behind the given ones.
  static Complex<V> staged(const FourierGroup& g, const float* stage, int64_t half, int64_t k) {
    const int64_t parts = g.problem.lines.in_parts, read = g.problem.read();
    if (k >= read) return {V::zero(), V::zero()};
    const float* at = stage + (half * read + k) * parts * kWidth;
    return {V::load(at), parts == 2 ? V::load(at + kWidth) : V::zero()};
  }

  /// The numbers that are transformed: of pairs, a + i b, whose spectra have other halves that
  /// follow from the first ones where these are given alone.
  static void compose(const FourierGroup& g, const float* stage, float* line) {
    const FourierLines& l = g.problem.lines;
    for (int64_t k = 0; l.mirror && k <= l.length / 2; ++k) {
      Complex<V> a = staged(g, stage, 0, k), b = staged(g, stage, 1, k);
      if (k == 0 || 2 * k == l.length) a.im = b.im = V::zero();
      (a + b.times_i()).store(line, k);
      if (k > 0) (a.conjugate() + b.conjugate().times_i()).store(line, l.length - k);
    }
    for (int64_t k = 0; !l.mirror && k < l.length; ++k) {
      Complex<V> sum = staged(g, stage, 0, k);
      if (g.problem.in_pairs()) sum.im = staged(g, stage, 1, k).re;
      if (g.window != nullptr) sum = sum * V::broadcast(factor(g, k));
      sum.store(line, k);
    }
  }
  static float factor(const FourierGroup& g, int64_t k) {
    const int64_t at = k * g.problem.window_step;
    return g.problem.window == ElementType::f32
               ? static_cast<const float*>(g.window)[at]
               : number(static_cast<const uint16_t*>(g.window)[at]);
  }

  /// The lines' results: of pairs of real lines, the parts of the spectrum that are those of the
  /// first and of the second.
  static void decompose(const FourierGroup& g, const float* line, float* stage) {
    const FourierLines& l = g.problem.lines;
    const double scale = l.inverse ? 1.0 / static_cast<double>(l.length) : 1.0;
    const bool splits = g.problem.in_pairs() && !l.mirror;
    const V factor = V::broadcast(static_cast<float>(splits ? scale / 2 : scale));
    const int64_t half = l.results * l.out_parts * kWidth;
    const auto put = [&](Complex<V> v, float* at) {
      v.re.store(at);
      if (l.out_parts == 2) v.im.store(at + kWidth);
    };
    for (int64_t k = 0; k < l.results; ++k, stage += l.out_parts * kWidth) {
      const Complex<V> own = Complex<V>::load(line, k) * factor;
      if (splits) {
        const auto other = Complex<V>::load(line, k == 0 ? 0 : l.length - k).conjugate() * factor;
        put(own + other, stage);
        put((other - own).times_i(), stage + half);
      } else {
        put(own, stage);
        if (l.mirror) own.im.store(stage + half);
      }
    }
  }

  /// In place: numbers times factors of a table, or zeros behind `count` of them.
  static void multiply(const std::vector<float>& table, int64_t count, int64_t length, bool turns,
                       float* line) {
    for (int64_t k = 0; k < count; ++k) {
      const Complex<V> v = Complex<V>::load(line, k) * Complex<V>::at(table, k);
      (turns ? v.conjugate() : v).store(line, k);
    }
    std::fill(line + count * 2 * kWidth, line + length * 2 * kWidth, 0.0f);
  }

  static void transform(const FourierGroup& g) {
    const FourierLines& l = g.problem.lines;
    const int64_t numbers = g.passes.length * 2 * kWidth;
    const int halves = g.problem.in_pairs() ? 2 : 1;
    float *line = g.scratch, *other = line + numbers, *stage = other + numbers;
    for (int half = 0; half < halves; ++half) {
      float* to = stage + half * g.problem.read() * l.in_parts * kWidth;
      const int64_t* places = g.from + half * kWidth;
      if (g.problem.from == ElementType::f32)
        gather_parts(g, static_cast<const float*>(g.x), places, to);
      else
        gather_parts(g, static_cast<const uint16_t*>(g.x), places, to);
    }
    compose(g, stage, line);
    const FourierPasses& p = g.passes;
    if (!p.chirp.empty()) multiply(p.chirp, l.length, p.length, false, line);
    float* result = transform_lines<V>(p, line, other);
    if (!p.chirp.empty()) {
      // The inverse of a transform is that of the conjugate numbers, but for its sign.
      multiply(p.spectrum, p.length, p.length, true, result);
      result = transform_lines<V>(p, result, result == line ? other : line);
      for (int64_t k = 0; k < l.length; ++k)
        (Complex<V>::load(result, k).conjugate() * Complex<V>::at(p.chirp, k)).store(result, k);
    }
    decompose(g, result, stage);
    for (int half = 0; half < halves; ++half) {
      const auto lanes = static_cast<int>(std::clamp<int64_t>(g.count - half * kWidth, 0, kWidth));
      const float* from = stage + half * l.results * l.out_parts * kWidth;
      const int64_t* places = g.to + half * kWidth;
      if (g.problem.to == ElementType::f32)
        scatter_parts(g, from, lanes, static_cast<float*>(g.y), places);
      else
        scatter_parts(g, from, lanes, static_cast<uint16_t*>(g.y), places);
    }
  }
};

}  // namespace
}  // namespace tenon::cpu
