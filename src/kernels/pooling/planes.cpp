#include "kernels/pooling/planes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tenon::cpu {
namespace {
#include "kernels/pooling/pool_body.h"

// Results of a row that are kept near while all taps pass.
constexpr int64_t kPlaces = 256;

/// Results [begin, begin + count) of one row of one plane.
template <class T, PoolKind kKind>
struct RowPiece {
  const PoolProblem& p;
  const T* plane;
  T* out;
  int64_t begin, count;
  float sums[kPlaces];

  /// Adds the taps of one row of the image: for each of them all results that it reaches.
  void add_row(const T* row) {
    for (int64_t j = 0; j < p.kernel_w; ++j) {
      const int64_t shift = j * p.dilation_w - p.pad_left;
      // Results x with 0 <= x * stride + shift < width.
      const int64_t least = shift < 0 ? (-shift + p.stride_w - 1) / p.stride_w : 0;
      const int64_t past = shift >= p.in_width ? 0 : (p.in_width - 1 - shift) / p.stride_w + 1;
      const int64_t first = std::max(least, begin), last = std::min(past, begin + count);
      if (first >= last) continue;
      const T* from = row + first * p.stride_w + shift;
      float* to = sums + first - begin;
      if (p.stride_w == 1)
        add(from, 1, to, last - first);
      else if (p.stride_w == 2)
        add(from, 2, to, last - first);
      else
        add(from, p.stride_w, to, last - first);
    }
  }

  [[gnu::always_inline]] void add(const T* from, int64_t step, float* to, int64_t n) const {
    if (kKind == PoolKind::lp && p.p == 2) {
      for (int64_t i = 0; i < n; ++i) to[i] = with_tap<kKind>(to[i], widen(from[i * step]), 2);
    } else {
      const int64_t power = p.p;
      for (int64_t i = 0; i < n; ++i) to[i] = with_tap<kKind>(to[i], widen(from[i * step]), power);
    }
  }

  void finish(int64_t z, int64_t y) {
    for (int64_t i = 0; i < count; ++i) {
      float x = sums[i];
      if (kKind == PoolKind::average) x /= static_cast<float>(Window(p, z, y, begin + i).count());
      if (kKind == PoolKind::lp) x = root(x, p.p);
      narrow(x, out[begin + i]);
    }
  }

  void run(int64_t z, int64_t y) {
    std::fill_n(sums, count,
                kKind == PoolKind::max ? -std::numeric_limits<float>::infinity() : 0.0f);
    const Window window(p, z, y, 0);
    for (int64_t h = window.planes.begin; h < window.planes.end; ++h)
      for (int64_t i = window.rows.begin; i < window.rows.end; ++i) {
        const int64_t row =
            (window.front + h * p.dilation_d) * p.in_height + window.top + i * p.dilation_h;
        add_row(plane + row * p.in_width);
      }
    finish(z, y);
  }
};

template <class T, PoolKind kKind>
void all_rows(const PoolProblem& p, const void* input, void* output, ThreadPool& threads) {
  const int64_t rows = p.out_depth * p.out_height;
  const int64_t in_plane = p.in_depth * p.in_height * p.in_width;
  threads.parallel_for(p.batch * p.channels * rows, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const T* plane = static_cast<const T*>(input) + row / rows * in_plane;
      T* out = static_cast<T*>(output) + row * p.out_width;
      for (int64_t x = 0; x < p.out_width; x += kPlaces) {
        RowPiece<T, kKind> piece{p, plane, out, x, std::min(kPlaces, p.out_width - x), {}};
        piece.run(row % rows / p.out_height, row % p.out_height);
      }
    }
  });
}

template <class T>
void planes_of(const PoolProblem& p, const void* input, void* output, ThreadPool& threads) {
  if (p.kind == PoolKind::max) return all_rows<T, PoolKind::max>(p, input, output, threads);
  if (p.kind == PoolKind::average) return all_rows<T, PoolKind::average>(p, input, output, threads);
  all_rows<T, PoolKind::lp>(p, input, output, threads);
}

}  // namespace

void pool_planes(const PoolProblem& problem, const void* input, void* output, ThreadPool& threads) {
  if (problem.type == PoolType::f32) return planes_of<float>(problem, input, output, threads);
  planes_of<uint16_t>(problem, input, output, threads);
}

}  // namespace tenon::cpu
