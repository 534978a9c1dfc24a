#pragma once

#include <vector>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/quantized/byte_lines.h"
#include "kernels/quantized/byte_problem.h"

namespace tenon::cpu {

/// A convolution of bytes each channel of which is its own group. Lines of output pixels go one
/// after the other, a panel of channels at a time: the lines under the window are joined
/// (byte_lines.h), multiplied and finished while they are in the first-level cache. An image whose
/// channels come first is copied before.
class ByteDepthwise {
 public:
  /// `weights` may be null where they lie packed; they are asked for channel 0 of each column.
  static Result<ByteDepthwise> prepare(ByteProblem problem, const ByteWeights* weights);

  size_t scratch_bytes() const;
  size_t fetch_capacity() const { return 0; }
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  /// Needs `scratch` of scratch_bytes(), 64-byte aligned.
  void run(const ByteArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// Pixels [first, first + count) of one line of the output.
  struct Run {
    int64_t line, first, count;
  };

  void choose_run();
  void pack(const ByteWeights& weights);
  void find_starts();
  void copy_lines(const uint8_t* input, int64_t begin, int64_t end, uint8_t* to) const;
  void join(const uint8_t* image, int64_t panel, const Run& run, uint8_t* columns) const;
  void run_task(const uint8_t* image, const ByteArguments& arguments, int64_t task,
                char* scratch) const;
  int64_t lines() const { return problem_.kernel[0] * problem_.kernel[1]; }  ///< of the window
  int64_t panels() const { return (problem_.output_channels + kBytePanel - 1) / kBytePanel; }
  int64_t panel_bytes() const;
  int64_t columns_of(int64_t pixels) const;
  int64_t image_bytes() const;
  size_t columns_bytes() const;
  size_t worker_bytes() const;

  ByteProblem problem_;
  const ByteLineKernel* kernel_ = nullptr;
  ByteFinishFunction finish_ = nullptr;
  int64_t groups_ = 1;        ///< Of kByteGroup lines of the window.
  int64_t pixel_stride_ = 1;  ///< Of the image that is read.
  int64_t run_pixels_ = 1;
  PackedWeights packed_;         ///< Panels, then the sum of each channel.
  std::vector<int32_t> starts_;  ///< Initial sums of each channel.
};

}  // namespace tenon::cpu
