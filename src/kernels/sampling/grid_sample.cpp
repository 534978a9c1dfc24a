#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "kernels/sampling/element.h"
#include "kernels/sampling/sampling.h"

namespace tenon::cpu {
namespace {

// Points whose taps are found together, before the channels are gone over.
constexpr int64_t kBlock = 64;
constexpr int kMostAxisTaps = 4;
constexpr int kMostTaps = kMostAxisTaps * kMostAxisTaps * kMostAxisTaps;

/// The taps of one coordinate along its axis.
struct AxisTaps {
  int count = 0;
  int64_t offset[kMostAxisTaps];
  float weight[kMostAxisTaps];
};

double reflected(double at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = std::fmod(std::abs(at - low), 2 * range);
  return low + (distance > range ? 2 * range - distance : distance);
}

double cubic(double x) {
  constexpr double a = -0.75;
  x = std::abs(x);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((x - 5) * x + 8) * x * a - 4 * a;
}

/// The taps of one axis of an image.
struct Sampler {
  const GridSampleProblem& p;
  const double half = p.align_corners ? 0.0 : 0.5;

  /// The index that stands for `index`, or -1 where zero does.
  int64_t inside(int64_t index, int64_t extent) const {
    if (index >= 0 && index < extent) return index;
    if (p.padding == SamplePadding::zeros) return -1;
    if (p.padding == SamplePadding::border) return std::clamp<int64_t>(index, 0, extent - 1);
    const double at =
        reflected(static_cast<double>(index), -half, static_cast<double>(extent - 1) + half);
    return std::clamp<int64_t>(static_cast<int64_t>(at), 0, extent - 1);
  }

  double place(double normalized, int64_t extent) const {
    const auto length = static_cast<double>(extent);
    double at =
        p.align_corners ? (normalized + 1) / 2 * (length - 1) : ((normalized + 1) * length - 1) / 2;
    if (!(std::abs(at) < 1e15)) at = -1e9;
    if (p.mode == SampleMode::nearest) at = std::nearbyint(at);
    if (at >= -half && at <= length - 1 + half) return at;
    // The taps of a cubic are moved to the border one by one.
    if (p.padding == SamplePadding::border && p.mode != SampleMode::cubic)
      return std::clamp(at, 0.0, length - 1);
    if (p.padding == SamplePadding::reflection) return reflected(at, -half, length - 1 + half);
    return at;
  }

  AxisTaps taps(int axis, double normalized) const {
    const int64_t extent = p.extents[axis], stride = p.x_strides[axis];
    const double at = place(normalized, extent);
    // Rounding down without a call: the magnitude is below 1e15.
    auto first = static_cast<int64_t>(at);
    first -= static_cast<double>(first) > at;
    const double rest = at - static_cast<double>(first);
    AxisTaps taps;
    const auto add = [&](int64_t index, double weight) {
      index = inside(index, extent);
      if (index < 0) return;
      taps.offset[taps.count] = index * stride;
      taps.weight[taps.count++] = static_cast<float>(weight);
    };
    if (p.mode == SampleMode::nearest) {
      add(first, 1);
    } else if (p.mode == SampleMode::linear) {
      add(first, 1 - rest);
      add(first + 1, rest);
    } else {
      for (int i = -1; i <= 2; ++i) add(first + i, cubic(rest - i));
    }
    return taps;
  }
};

/// The taps of one point.
struct PointTaps {
  int count;
  int64_t offset[kMostTaps];
  float weight[kMostTaps];

  void start(const AxisTaps& axis) {
    count = axis.count;
    for (int i = 0; i < count; ++i) offset[i] = axis.offset[i], weight[i] = axis.weight[i];
  }
  /// Every tap so far with every one of a further axis.
  void cross(const AxisTaps& axis) {
    const int before = count;
    count = before * axis.count;
    for (int i = before - 1; i >= 0; --i)
      for (int j = axis.count - 1; j >= 0; --j) {
        const int to = i * axis.count + j;
        offset[to] = offset[i] + axis.offset[j];
        weight[to] = weight[i] * axis.weight[j];
      }
  }
};

template <class T> struct Block {
  const GridSampleProblem& p;
  const T *x, *grid;  ///< of the image, of the first point
  T* y;
  int64_t count;

  void find(PointTaps* taps) const {
    const Sampler sampler{p};
    for (int64_t i = 0; i < count; ++i) {
      const T* at = grid + i * p.grid_point;
      taps[i].start(sampler.taps(0, to_float(at[p.axes - 1])));
      for (int axis = 1; axis < p.axes; ++axis)
        taps[i].cross(sampler.taps(axis, to_float(at[p.axes - 1 - axis])));
    }
  }

  /// Channels are contiguous: all of a point at once.
  void mix_channels(const PointTaps& taps, T* to) const {
    constexpr int64_t kChannels = 64;
    for (int64_t c = 0; c < p.channels; c += kChannels) {
      const int64_t n = std::min(kChannels, p.channels - c);
      float sums[kChannels] = {};
      for (int t = 0; t < taps.count; ++t) {
        const T* from = x + taps.offset[t] + c;
        const float weight = taps.weight[t];
        for (int64_t k = 0; k < n; ++k) sums[k] += weight * to_float(from[k]);
      }
      for (int64_t k = 0; k < n; ++k) put_float(sums[k], to[c + k]);
    }
  }

  static float mixed(const PointTaps& taps, const T* from) {
    const auto tap = [&](int t) { return taps.weight[t] * to_float(from[taps.offset[t]]); };
    if (taps.count == 4) return (tap(0) + tap(1)) + (tap(2) + tap(3));
    float sum = 0;
    for (int t = 0; t < taps.count; ++t) sum += tap(t);
    return sum;
  }

  void mix_points(const PointTaps* taps) const {
    for (int64_t c = 0; c < p.channels; ++c) {
      const T* from = x + c * p.x_channel;
      T* to = y + c * p.y_channel;
      for (int64_t i = 0; i < count; ++i) put_float(mixed(taps[i], from), to[i * p.y_point]);
    }
  }

  void run(PointTaps* taps) const {
    find(taps);
    if (p.x_channel != 1 || p.y_channel != 1) return mix_points(taps);
    for (int64_t i = 0; i < count; ++i) mix_channels(taps[i], y + i * p.y_point);
  }
};

template <class T>
void sample(const GridSampleProblem& p, const void* x, const void* grid, void* y,
            ThreadPool& pool) {
  const int64_t blocks = ceil_div(p.points, kBlock);
  pool.parallel_for(p.batch * blocks, 1, [&](int64_t begin, int64_t end, int) {
    PointTaps taps[kBlock];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / blocks, first = task % blocks * kBlock;
      Block<T>{p, static_cast<const T*>(x) + image * p.x_image,
               static_cast<const T*>(grid) + image * p.grid_image + first * p.grid_point,
               static_cast<T*>(y) + image * p.y_image + first * p.y_point,
               std::min(kBlock, p.points - first)}
          .run(taps);
    }
  });
}

}  // namespace

void grid_sample(const GridSampleProblem& problem, const void* x, const void* grid, void* y,
                 ThreadPool& pool) {
  if (problem.type == ElementType::f32) return sample<float>(problem, x, grid, y, pool);
  sample<uint16_t>(problem, x, grid, y, pool);
}

}  // namespace tenon::cpu
