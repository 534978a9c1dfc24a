#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/pooling/planes.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace {
#include "kernels/pooling/pool_body.h"

// Results of a row that are kept near while all taps pass.
constexpr int64_t kPlaces = 256;

/// Rows of results, piece by piece: first the taps of each column of the window are combined into
/// one line, then those of the line. That takes the sum of the window's extents in steps, not
/// their product.
template <class T, PoolKind kKind> class Rows {
 public:
  explicit Rows(const PoolProblem& problem)
      : p_(problem),
        line_(static_cast<size_t>((kPlaces - 1) * p_.stride_w + reach()) + 1),
        sums_(kPlaces) {}

  /// Results [begin, begin + count) of one row of one plane.
  void piece(const T* plane, T* out, int64_t z, int64_t y, int64_t begin, int64_t count) {
    const Window window(p_, z, y, 0);
    const int64_t left = begin * p_.stride_w - p_.pad_left;
    const int64_t first = std::clamp<int64_t>(left, 0, p_.in_width);
    const int64_t past =
        std::clamp(left + (count - 1) * p_.stride_w + reach() + 1, first, p_.in_width);
    std::fill_n(line_.data(), past - first, kStart);
    for (int64_t h = window.planes.begin; h < window.planes.end; ++h)
      for (int64_t i = window.rows.begin; i < window.rows.end; ++i) {
        const int64_t row =
            (window.front + h * p_.dilation_d) * p_.in_height + window.top + i * p_.dilation_h;
        add_row(plane + row * p_.in_width + first, past - first);
      }
    std::fill_n(sums_.data(), count, kStart);
    for (int64_t j = 0; j < p_.kernel_w; ++j)
      add_tap(j * p_.dilation_w - p_.pad_left, first, begin, count);
    finish(window, begin, count, out);
  }

 private:
  static constexpr float kStart =
      kKind == PoolKind::max ? -std::numeric_limits<float>::infinity() : 0.0f;

  /// From the first to the last tap of a row.
  int64_t reach() const { return (p_.kernel_w - 1) * p_.dilation_w; }

  void add_row(const T* row, int64_t n) {
    float* line = line_.data();
    const int64_t power = p_.p;
    if (kKind == PoolKind::lp && power == 2)
      for (int64_t i = 0; i < n; ++i) line[i] = with_tap<kKind>(line[i], widen(row[i]), 2);
    else
      for (int64_t i = 0; i < n; ++i) line[i] = with_tap<kKind>(line[i], widen(row[i]), power);
  }

  /// The tap that lies `shift` places from the results' own.
  void add_tap(int64_t shift, int64_t line_first, int64_t begin, int64_t count) {
    // Results x with 0 <= x * stride + shift < width.
    const int64_t least = shift < 0 ? (-shift + p_.stride_w - 1) / p_.stride_w : 0;
    const int64_t past = shift >= p_.in_width ? 0 : (p_.in_width - 1 - shift) / p_.stride_w + 1;
    const int64_t first = std::max(least, begin), last = std::min(past, begin + count);
    if (first >= last) return;
    const float* from = line_.data() + first * p_.stride_w + shift - line_first;
    float* to = sums_.data() + first - begin;
    if (p_.stride_w == 1)
      add(from, 1, to, last - first);
    else if (p_.stride_w == 2)
      add(from, 2, to, last - first);
    else
      add(from, p_.stride_w, to, last - first);
  }

  [[gnu::always_inline]] static void add(const float* from, int64_t step, float* to, int64_t n) {
    constexpr PoolKind kThen = kKind == PoolKind::max ? PoolKind::max : PoolKind::average;
    for (int64_t i = 0; i < n; ++i) to[i] = with_tap<kThen>(to[i], from[i * step], 1);
  }

  void finish(const Window& window, int64_t begin, int64_t count, T* out) const {
    for (int64_t i = 0; i < count; ++i) {
      float x = sums_[static_cast<size_t>(i)];
      if (kKind == PoolKind::average)
        x /= static_cast<float>(window.count_above() * window.count_along(begin + i));
      if (kKind == PoolKind::lp) x = root(x, p_.p);
      narrow(x, out[begin + i]);
    }
  }

  const PoolProblem& p_;
  std::vector<float> line_, sums_;
};

template <class T, PoolKind kKind>
void rows_of(const PoolProblem& p, const void* input, void* output, int64_t begin, int64_t end) {
  const int64_t rows = p.out_depth * p.out_height;
  const int64_t in_plane = p.in_depth * p.in_height * p.in_width;
  Rows<T, kKind> results(p);
  for (int64_t row = begin; row < end; ++row) {
    const T* plane = static_cast<const T*>(input) + row / rows * in_plane;
    T* out = static_cast<T*>(output) + row * p.out_width;
    for (int64_t x = 0; x < p.out_width; x += kPlaces)
      results.piece(plane, out, row % rows / p.out_height, row % p.out_height, x,
                    std::min(kPlaces, p.out_width - x));
  }
}

template <class T>
void rows_of_type(const PoolProblem& p, const void* input, void* output, int64_t begin,
                  int64_t end) {
  if (p.kind == PoolKind::max) return rows_of<T, PoolKind::max>(p, input, output, begin, end);
  if (p.kind == PoolKind::average)
    return rows_of<T, PoolKind::average>(p, input, output, begin, end);
  rows_of<T, PoolKind::lp>(p, input, output, begin, end);
}

void plane_rows(const PoolProblem& p, const void* input, void* output, int64_t begin, int64_t end) {
  if (p.type == PoolType::f32) return rows_of_type<float>(p, input, output, begin, end);
  rows_of_type<uint16_t>(p, input, output, begin, end);
}

}  // namespace

PoolRows TENON_OF_ISA(pool_plane_rows)() {
  return plane_rows;
}

}  // namespace tenon::cpu
