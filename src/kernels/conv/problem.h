#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/status.h"
#include "device/cpu/isa.h"
#include "kernels/epilogue/epilogue.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {

/// Longest epilogue of a convolution.
inline constexpr size_t kMaxConvSteps = 16;

/// Depth, height, width; 1-D and 2-D problems have leading ones (and zero padding there).
using Spatial = std::array<int64_t, 3>;

/// A convolution, or a transposed one, over channels-last tensors.
struct ConvProblem {
  int64_t batch = 1;
  int64_t input_channels = 1, output_channels = 1, groups = 1;
  Spatial input = {1, 1, 1}, output = {1, 1, 1};
  Spatial kernel = {1, 1, 1}, stride = {1, 1, 1}, dilation = {1, 1, 1};
  Spatial pad = {0, 0,
                 0};  ///< before the first element; the padding behind follows from the extents
  bool transposed = false;
  bool weights_change = false;  ///< They come with each run: DirectConvolution alone takes them.
  bool channels_last_weights = false;  ///< Their second axis is the innermost one.

  ElementType input_type = ElementType::f32;
  ElementType output_type = ElementType::f32;
  ElementType weight_type = ElementType::f32;
  /// Multiply in bf16 (accumulating in float) where the machine can; without, everything is float.
  ElementType compute = ElementType::f32;
  bool tiles = false;                 ///< DirectConvolution: by tile_microkernels().
  bool channels_first_input = false;  ///< the input is dense NCHW instead

  /// Elements from one pixel to the next: more than the channels inside a wider tensor.
  int64_t input_pixel_stride = 0;
  int64_t output_pixel_stride = 0;

  /// Rows of the output matrix are pixels, columns are channels.
  std::vector<EpilogueStep> steps;
  Isa isa = detected_isa();
  int threads = 1;
  std::span<const std::byte> packed;  ///< See tenon::Problem.

  /// All of it, and nothing is rounded to bf16.
  bool is_float() const {
    return input_type == ElementType::f32 && output_type == ElementType::f32 &&
           weight_type == ElementType::f32 && compute == ElementType::f32;
  }
  float weight_at(const void* weights, int64_t index) const {
    if (weight_type == ElementType::f32) return static_cast<const float*>(weights)[index];
    return bf16_to_float(static_cast<const uint16_t*>(weights)[index]);
  }
  /// The same with strides of dense images where none are given.
  ConvProblem with_strides() const {
    ConvProblem problem = *this;
    if (input_pixel_stride == 0) problem.input_pixel_stride = input_channels;
    if (output_pixel_stride == 0) problem.output_pixel_stride = output_channels;
    return problem;
  }
};

/// Addresses of one run.
struct ConvArguments {
  const void* input = nullptr;
  const void* weights = nullptr;  ///< Where they come with each run.
  void* output = nullptr;
  const EpilogueOperand* operands = nullptr;  ///< parallel to the problem's steps
  std::span<const std::byte> ahead;           ///< See tenon::LaunchArguments.
};

/// From 0 to b - 1.
inline int64_t floor_mod(int64_t a, int64_t b) {
  return ((a % b) + b) % b;
}

inline int64_t volume(const Spatial& s) {
  return s[0] * s[1] * s[2];
}

/// Whether kernels that finish tiles of whole rows of channels can apply the steps.
inline Status check_steps(const ConvProblem& problem) {
  if (problem.steps.size() > kMaxConvSteps)
    return unsupported("an epilogue of {} steps", problem.steps.size());
  for (const EpilogueStep& step : problem.steps)
    if (step.operand == OperandKind::per_row) return unsupported("an operand per pixel");
  return {};
}

}  // namespace tenon::cpu
