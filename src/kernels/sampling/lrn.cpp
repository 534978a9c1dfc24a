#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "kernels/sampling/element.h"
#include "kernels/sampling/sampling.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kBlock = 64;  // Pixels, or channels, that are worked off together.

/// base ^ -beta for a block; usual exponents without a logarithm.
void to_factors(float* base, int64_t count, float beta) {
  if (beta == 0.75f) {
    for (int64_t i = 0; i < count; ++i) {
      const float root = std::sqrt(base[i]);
      base[i] = 1.0f / (root * std::sqrt(root));
    }
  } else if (beta == 0.5f) {
    for (int64_t i = 0; i < count; ++i) base[i] = 1.0f / std::sqrt(base[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) base[i] = std::pow(base[i], -beta);
  }
}

/// A block of elements one step apart; neighbours in the sum are `neighbour` apart.
template <class T> struct Block {
  const LrnProblem& p;
  const T* x;
  T* y;
  int64_t count, x_step, y_step, neighbour;

  /// Elements from `first` to `last` neighbours away count for all of the block.
  void run(int64_t first, int64_t last) const {
    float sums[kBlock] = {};
    for (int64_t k = first; k <= last; ++k) {
      const T* from = x + k * neighbour;
      if (x_step == 1)
        for (int64_t i = 0; i < count; ++i) sums[i] += square(from[i]);
      else
        for (int64_t i = 0; i < count; ++i) sums[i] += square(from[i * x_step]);
    }
    scale(sums);
  }

  static float square(T value) {
    const float x = to_float(value);
    return x * x;
  }

  void scale(float* sums) const {
    const float factor = p.alpha / static_cast<float>(p.size);
    for (int64_t i = 0; i < count; ++i) sums[i] = p.bias + factor * sums[i];
    to_factors(sums, count, p.beta);
    for (int64_t i = 0; i < count; ++i) put_float(to_float(x[i * x_step]) * sums[i], y[i * y_step]);
  }
};

template <class T> struct Image {
  const LrnProblem& p;
  const T* x;
  T* y;
  const int64_t before = std::min((p.size - 1) / 2, p.channels);
  const int64_t after = std::min(p.size / 2, p.channels);

  int64_t first(int64_t c) const { return std::max(-before, -c); }
  int64_t last(int64_t c) const { return std::min(after, p.channels - 1 - c); }

  /// Pixels are neighbours in memory: a block of them for each channel.
  void pixels(int64_t begin, int64_t count) const {
    for (int64_t c = 0; c < p.channels; ++c)
      Block<T>{p,
               x + c * p.x_channel + begin * p.x_pixel,
               y + c * p.y_channel + begin * p.y_pixel,
               count,
               p.x_pixel,
               p.y_pixel,
               p.x_channel}
          .run(first(c), last(c));
  }

  /// Channels are: all those of a pixel with as many neighbours go together.
  void channels(int64_t pixel) const {
    for (int64_t c = 0; c < p.channels;) {
      int64_t count = 1;
      while (count < kBlock && c + count < p.channels && first(c + count) == first(c) &&
             last(c + count) == last(c))
        ++count;
      Block<T>{p,
               x + pixel * p.x_pixel + c * p.x_channel,
               y + pixel * p.y_pixel + c * p.y_channel,
               count,
               p.x_channel,
               p.y_channel,
               p.x_channel}
          .run(first(c), last(c));
      c += count;
    }
  }
};

template <class T> void normalize(const LrnProblem& p, const void* x, void* y, ThreadPool& pool) {
  const int64_t blocks = ceil_div(p.pixels, kBlock);
  pool.for_each(p.images * blocks, 1, [&](int64_t task) {
    const int64_t n = task / blocks, from = task % blocks * kBlock;
    const int64_t count = std::min(kBlock, p.pixels - from);
    const Image<T> image{p, static_cast<const T*>(x) + n * p.x_image,
                         static_cast<T*>(y) + n * p.y_image};
    if (p.x_channel != 1 || p.channels == 1) {
      image.pixels(from, count);
    } else {
      for (int64_t i = from; i < from + count; ++i) image.channels(i);
    }
  });
}

}  // namespace

void lrn(const LrnProblem& problem, const void* x, void* y, ThreadPool& pool) {
  if (problem.type == ElementType::f32) return normalize<float>(problem, x, y, pool);
  normalize<uint16_t>(problem, x, y, pool);
}

}  // namespace tenon::cpu
