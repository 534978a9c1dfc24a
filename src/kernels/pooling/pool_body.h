// One line of pooling; included once (after <algorithm>, <bit>, <cmath>, <cstdint>, <cstring>,
// <limits>) per instruction set, inside a namespace of that set's own. The loops over channels are
// vectorized by the compiler.

constexpr int64_t kBlock = 64;  // Channels kept in registers.

#include "kernels/vector_math/widen_body.h"

/// First and last tap of a window inside [0, extent).
struct Taps {
  int64_t begin, end;
};
inline Taps taps_inside(int64_t start, int64_t kernel, int64_t dilation, int64_t extent) {
  // Divisions take as long as several taps.
  const auto steps = [&](int64_t distance) {
    return dilation == 1 ? distance : distance / dilation;
  };
  const int64_t begin = start >= 0 ? 0 : steps(-start + dilation - 1);
  const int64_t end = std::min(kernel, start >= extent ? 0 : steps(extent - 1 - start) + 1);
  return {begin, std::max(begin, end)};
}

/// Taps that count for an average: all inside the padded image, or only those inside the image.
inline int64_t counted(int64_t start, int64_t kernel, int64_t dilation, int64_t extent,
                       int64_t pad_after, bool padding, Taps taps) {
  if (!padding) return taps.end - taps.begin;
  return std::min(kernel, std::max<int64_t>(0, (extent + pad_after - 1 - start) / dilation + 1));
}

/// The window of one output pixel: the taps inside the image of each axis, depth first.
struct Window {
  const PoolProblem& p;
  int64_t front, top, left;
  Taps planes, rows, columns;

  Window(const PoolProblem& problem, int64_t z, int64_t y, int64_t x)
      : p(problem),
        front(z * p.stride_d - p.pad_front),
        top(y * p.stride_h - p.pad_top),
        left(x * p.stride_w - p.pad_left),
        planes(taps_inside(front, p.kernel_d, p.dilation_d, p.in_depth)),
        rows(taps_inside(top, p.kernel_h, p.dilation_h, p.in_height)),
        columns(taps_inside(left, p.kernel_w, p.dilation_w, p.in_width)) {}

  /// To another pixel of the line.
  void move_to(int64_t x) {
    left = x * p.stride_w - p.pad_left;
    columns = taps_inside(left, p.kernel_w, p.dilation_w, p.in_width);
  }

  int64_t count() const {
    return count_above() * counted(left, p.kernel_w, p.dilation_w, p.in_width, p.pad_right,
                                   p.count_padding, columns);
  }
  /// Of planes and rows.
  int64_t count_above() const {
    const bool all = p.count_padding;
    return counted(front, p.kernel_d, p.dilation_d, p.in_depth, p.pad_back, all, planes) *
           counted(top, p.kernel_h, p.dilation_h, p.in_height, p.pad_bottom, all, rows);
  }
  /// Of columns, for the window of place x.
  int64_t count_along(int64_t x) const {
    const int64_t start = x * p.stride_w - p.pad_left;
    if (start >= 0 && start + (p.kernel_w - 1) * p.dilation_w < p.in_width) return p.kernel_w;
    return counted(start, p.kernel_w, p.dilation_w, p.in_width, p.pad_right, p.count_padding,
                   taps_inside(start, p.kernel_w, p.dilation_w, p.in_width));
  }

  /// f(element of the tap's first channel) for every tap.
  template <class F> void each(F f) const {
    const int64_t step = p.dilation_w * p.in_pixel;
    for (int64_t h = planes.begin; h < planes.end; ++h)
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const int64_t row = (front + h * p.dilation_d) * p.in_height + top + i * p.dilation_h;
        int64_t at = (row * p.in_width + left + columns.begin * p.dilation_w) * p.in_pixel;
        for (int64_t j = columns.begin; j < columns.end; ++j, at += step) f(at);
      }
  }
};

inline float whole_power(float x, int64_t p) {
  float power = x;
  for (int64_t i = 1; i < p; ++i) power *= x;
  return power;
}

inline float root(float x, int64_t p) {
  if (p == 1) return x;
  return p == 2 ? std::sqrt(x) : std::pow(x, 1.0f / static_cast<float>(p));
}

template <PoolKind kKind> inline float with_tap(float sum, float value, int64_t p) {
  if (kKind == PoolKind::average) return sum + value;
  if (kKind == PoolKind::lp)
    return sum + (p == 2 ? value * value : whole_power(std::abs(value), p));
  // The comparison keeps NaN, as a maximum should.
  return value > sum || value != value ? value : sum;
}

template <class T, PoolKind kKind> void pixel_of(const Window& window, const T* image, T* out) {
  const PoolProblem& p = window.p;
  constexpr float kStart = kKind == PoolKind::max ? -std::numeric_limits<float>::infinity() : 0.0f;
  const float scale = kKind == PoolKind::average ? 1.0f / static_cast<float>(window.count()) : 1.0f;
  const int64_t exponent = p.p;
  for (int64_t c = 0; c < p.channels; c += kBlock) {
    const int64_t n = std::min(kBlock, p.channels - c);
    float sums[kBlock];
    std::fill_n(sums, kBlock, kStart);
    window.each([&](int64_t at) {
      const T* tap = image + at + c;
      if (kKind == PoolKind::lp && exponent == 2) {
        for (int64_t k = 0; k < n; ++k) sums[k] = with_tap<kKind>(sums[k], widen(tap[k]), 2);
      } else {
        for (int64_t k = 0; k < n; ++k) sums[k] = with_tap<kKind>(sums[k], widen(tap[k]), exponent);
      }
    });
    if (kKind == PoolKind::lp)
      for (int64_t k = 0; k < n; ++k) sums[k] = root(sums[k], exponent);
    for (int64_t k = 0; k < n; ++k)
      narrow(kKind == PoolKind::average ? sums[k] * scale : sums[k], out[c + k]);
  }
}

/// The largest byte of each channel.
template <class T> void largest_bytes(const Window& window, const T* image, T* out) {
  typedef T Block __attribute__((vector_size(kBlock)));
  for (int64_t c = 0; c < window.p.channels; c += kBlock) {
    const auto n = static_cast<size_t>(std::min(kBlock, window.p.channels - c));
    Block largest = Block{} + std::numeric_limits<T>::lowest();
    const auto take = [&](int64_t at, size_t count) {
      Block tap = largest;
      std::memcpy(&tap, image + at + c, count);
      largest = tap > largest ? tap : largest;
    };
    if (n == kBlock)
      window.each([&](int64_t at) { take(at, kBlock); });
    else
      window.each([&](int64_t at) { take(at, n); });
    std::memcpy(out + c, &largest, n);
  }
}

/// All pixels of a line.
template <class T, class F>
void each_pixel(const PoolProblem& p, void* out, int64_t z, int64_t y, F pixel) {
  auto* to = static_cast<T*>(out);
  Window window(p, z, y, 0);
  for (int64_t x = 0; x < p.out_width; ++x, to += p.out_pixel) window.move_to(x), pixel(window, to);
}

template <class T>
void line_of_reals(const PoolProblem& p, const void* image, void* out, int64_t z, int64_t y) {
  const auto* from = static_cast<const T*>(image);
  each_pixel<T>(p, out, z, y, [&](const Window& window, T* to) {
    if (p.kind == PoolKind::max) return pixel_of<T, PoolKind::max>(window, from, to);
    if (p.kind == PoolKind::average) return pixel_of<T, PoolKind::average>(window, from, to);
    pixel_of<T, PoolKind::lp>(window, from, to);
  });
}

template <class T>
void line_of_bytes(const PoolProblem& p, const void* image, void* out, int64_t z, int64_t y) {
  const auto* from = static_cast<const T*>(image);
  each_pixel<T>(p, out, z, y,
                [&](const Window& window, T* to) { largest_bytes(window, from, to); });
}

inline void line(const PoolProblem& p, const void* image, void* out, int64_t z, int64_t y) {
  switch (p.type) {
    case PoolType::f32: return line_of_reals<float>(p, image, out, z, y);
    case PoolType::bf16: return line_of_reals<uint16_t>(p, image, out, z, y);
    case PoolType::i8: return line_of_bytes<int8_t>(p, image, out, z, y);
    case PoolType::u8: return line_of_bytes<uint8_t>(p, image, out, z, y);
  }
}
