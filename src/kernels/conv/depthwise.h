#pragma once

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "device/cpu/worker_memory.h"
#include "kernels/conv/problem.h"

namespace tenon::cpu {

/// One line of output pixels of a depthwise convolution, for the kernels of an instruction set.
struct DepthwiseLine {
  const void* input = nullptr;  ///< of the image
  ElementType input_type = ElementType::f32;
  const float* weights = nullptr;  ///< taps x channels (padded)
  int64_t weight_stride = 0;       ///< channels, padded
  const float* bias = nullptr;     ///< or null
  int64_t channels = 0;
  Spatial extents = {};  ///< input
  int64_t ring = 0;      ///< Only so many lines are there, line h at the place of h % ring; 0: all.
  Spatial kernel = {}, stride = {}, dilation = {}, pad = {};
  int64_t pixel_stride = 0;
  int64_t depth = 0, height = 0;  ///< position of the line in the output
  int64_t pixels = 0;
  RegisterActivation activation = RegisterActivation::none;
  float low = 0.0f, high = 0.0f;
  void* output = nullptr;
  int64_t output_stride = 0;
  ElementType output_type = ElementType::f32;
};

/// Most rows of taps: the kernel's depth times its height.
inline constexpr int64_t kMaxDepthwiseRows = 64;

using DepthwiseFunction = void (*)(const DepthwiseLine& line);
TENON_FUNCTION_BY_ISA(DepthwiseFunction, depthwise)

/// Packed weights are taps x channels, padded to the widest vector.
int64_t padded_depthwise_channels(int64_t channels);
size_t packed_depthwise_bytes(const ConvProblem& problem);
void pack_depthwise(const ConvProblem& problem, const void* weights, float* to);

/// Convolution of every channel by itself: as many groups as input channels. Where a channel gives
/// several outputs, it is repeated first. Of wide windows over small images a task copies its lines
/// with the padding, so that no pixel needs to ask which of its taps lie inside.
class DepthwiseConvolution {
 public:
  static bool fits(const ConvProblem& problem);
  /// `weights` in ONNX order: channels x 1 x kernel.
  static Result<DepthwiseConvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return weights_.bytes(); }
  size_t fetch_capacity() const { return 0; }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  template <class T> void repeat_channels(const T* from, T* to, ThreadPool& pool) const;
  void choose_blocks();
  int64_t longest_share(int64_t lines) const;
  bool worth_padding() const;
  int64_t padded_width() const;
  int64_t band_lines() const;  ///< of the input, at most
  int64_t planes() const { return problem_.batch * problem_.output[0]; }
  int64_t channel_blocks() const;
  int64_t bands() const;
  void run_lines(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;
  void run_task(const ConvArguments& arguments, int64_t task, float* scratch) const;
  /// `padded` has the lines that pad_lines() copied, or is null.
  void run_line(const ConvArguments& arguments, int64_t index, int64_t channel, float* scratch,
                const float* padded) const;
  void pad_lines(const ConvArguments& arguments, int64_t first, int64_t last, int64_t channel,
                 float* padded) const;
  DepthwiseLine line_of(const ConvArguments& arguments, int64_t index, int64_t channel) const;
  size_t repeated_bytes() const;
  size_t line_bytes() const;
  size_t padded_bytes() const;
  size_t worker_bytes() const {
    return worker_stride(line_bytes() + padded_bytes(), problem_.threads);
  }

  ConvProblem problem_;  ///< Of the repeated channels.
  int64_t repeats_ = 1, from_pixel_stride_ = 0;
  DepthwiseFunction kernel_ = nullptr;
  FinishFunction finish_ = nullptr;
  RegisterEpilogue registers_;
  int64_t padded_channels_ = 0;
  int64_t channel_block_ = 1, line_block_ = 1;  ///< of a task
  bool pads_ = false;
  PackedWeights weights_;
};

}  // namespace tenon::cpu
