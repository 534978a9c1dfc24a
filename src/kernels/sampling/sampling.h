#pragma once

#include <array>
#include <cstdint>

#include "device/cpu/thread_pool.h"
#include "kernels/epilogue/epilogue.h"

/// Images of any strides whose pixels or channels are contiguous: reading them at given points, and
/// local response normalization.
namespace tenon::cpu {

inline constexpr int kMostSampledAxes = 3;

enum class SampleMode : uint8_t { nearest, linear, cubic };
enum class SamplePadding : uint8_t { zeros, border, reflection };

struct GridSampleProblem {
  ElementType type = ElementType::f32;  ///< of x, the grid and y
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;
  int axes = 2;  ///< spatial ones
  int64_t batch = 1, channels = 1, points = 1;
  std::array<int64_t, kMostSampledAxes> extents{}, x_strides{};  ///< of x's spatial axes
  /// Elements from one image, channel or point to the next. The coordinates of a point, the last
  /// axis first, are contiguous.
  int64_t x_image = 0, x_channel = 0, grid_image = 0, grid_point = 0;
  int64_t y_image = 0, y_channel = 0, y_point = 0;
};

void grid_sample(const GridSampleProblem& problem, const void* x, const void* grid, void* y,
                 ThreadPool& pool);

/// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
struct LrnProblem {
  ElementType type = ElementType::f32;
  int64_t images = 1, channels = 1, pixels = 1;
  int64_t x_image = 0, x_channel = 0, x_pixel = 0;
  int64_t y_image = 0, y_channel = 0, y_pixel = 0;
  int64_t size = 1;
  float alpha = 0, beta = 0, bias = 1;
};

void lrn(const LrnProblem& problem, const void* x, void* y, ThreadPool& pool);

}  // namespace tenon::cpu
