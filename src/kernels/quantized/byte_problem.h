#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "device/cpu/isa.h"
#include "kernels/quantized/byte_finish.h"

namespace tenon::cpu {

/// Depth, height, width; problems of fewer axes have leading ones.
using ByteSpatial = std::array<int64_t, 3>;

/// Longest list of steps.
inline constexpr int kMaxByteSteps = 16;

/// A convolution of bytes, with any number of groups, over channels-last images; a matrix product
/// is one of a single line of pixels, its rows.
struct ByteProblem {
  int64_t batch = 1, input_channels = 1, output_channels = 1, groups = 1;
  ByteSpatial input = {1, 1, 1}, output = {1, 1, 1}, kernel = {1, 1, 1};
  ByteSpatial stride = {1, 1, 1}, dilation = {1, 1, 1}, pad = {0, 0, 0};
  bool channels_first = false;     ///< The input is dense NCHW.
  int64_t input_pixel_stride = 1;  ///< Elements, as is the next.
  int64_t output_pixel_stride = 1;
  bool is_signed = false;  ///< The input is i8, else u8.
  /// Weights are sums of two i8: the image is multiplied by one after the other.
  bool wide_weights = false;
  int32_t zero = 0;               ///< The input's zero point, which fills the padding.
  bool computed_scaling = false;  ///< See ByteArguments.

  std::vector<float> scales, biases;  ///< One a channel; behind the last, kBytePanel more are read.
  std::vector<ByteStep> steps;
  ByteType type = ByteType::f32;
  float inverse = 1.0f, low = 0.0f, high = 0.0f;  ///< See ByteFinish.
  float output_zero = 0.0f;
  bool is_bounded = false;  ///< See ByteFinish; finds_bounds() when all else is known.

  Isa isa = detected_isa();
  int threads = 1;
  std::span<const std::byte> packed;  ///< See tenon::Problem.

  int64_t pixels() const { return batch * output[0] * output[1] * output[2]; }
  int64_t copies() const { return wide_weights ? 2 : 1; }
  int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Whether scales and steps keep results below ByteLimits::kLarge for any sums.
  bool finds_bounds() const;
};

struct ByteArguments {
  const void* input;
  void* output;
  const ByteStepOperand* operands;  ///< parallel to the problem's steps
  /// Of a problem with `computed_scaling`: the zero point, and a factor of all scales.
  int32_t zero = 0;
  float scale = 1.0f;
  std::span<const std::byte> ahead = {};  ///< Is fetched meanwhile.
};

/// Gives weight (channel, depth position) where depth runs over kernel positions and, innermost,
/// input channels of the column's group.
using ByteWeights = FunctionRef<int16_t(int64_t column, int64_t position, int64_t channel)>;

/// The first or the second of the numbers that a weight is the sum of.
inline int8_t weight_part(int16_t weight, int64_t copy) {
  const int16_t first = std::clamp<int16_t>(weight, -128, 127);
  return static_cast<int8_t>(copy == 0 ? first : weight - first);
}

/// Channels that are finished together.
struct BytePanel {
  int64_t first, count;
  const float* scales;  ///< Of the first; kBytePanel are read.
};

/// The end of a panel of channels: sums of some pixels to results.
class PanelFinish {
 public:
  PanelFinish(const PanelFinish&) = delete;  // It points into itself.
  PanelFinish& operator=(const PanelFinish&) = delete;
  PanelFinish(const ByteProblem& problem, const ByteArguments& arguments, const BytePanel& panel,
              const int32_t* sums);
  /// Pixels [first, first + count), whose sums begin at row `row`.
  void run(ByteFinishFunction finish, int64_t first, int64_t count, int64_t row = 0);
  /// Ahead of run(), the lines that it will write come from other cores.
  void fetch_output(int64_t first, int64_t count) const;

 private:
  char* output_at(int64_t pixel) const;

  const ByteProblem& problem_;
  const ByteArguments& arguments_;
  int64_t column_;
  const int32_t* sums_;
  ByteStepOperand operands_[kMaxByteSteps];
  ByteFinish finish_;
};

}  // namespace tenon::cpu
