#pragma once

#include <optional>

#include "kernels/conv/stem.h"

namespace tenon::cpu {

/// Windows of max pooling over images.
struct PoolWindow {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0};
  int64_t output[2] = {1, 1};
};

/// The first convolution of an image network and the max pooling behind it. A task computes a band
/// of pooled lines from the few convolved lines that it keeps in its cache: the largest image of
/// the network is never written.
class PooledStem {
 public:
  static bool fits(const ConvProblem& problem, const PoolWindow& window);
  /// `weights` in ONNX order; the problem's output is the convolution's, its steps and type those
  /// of the whole.
  static Result<PooledStem> prepare(const ConvProblem& problem, const PoolWindow& window,
                                    const void* weights);

  size_t scratch_bytes() const { return worker_bytes() * problem_.threads; }
  std::span<const std::byte> packed() const { return stem_->packed(); }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  size_t line_bytes() const;
  size_t worker_bytes() const;
  int64_t bands() const;
  void run_band(const ConvArguments& arguments, int64_t image, int64_t first, int64_t end,
                char* scratch) const;
  void pool_line(const float* const* lines, int count, float* merged, void* to) const;

  ConvProblem problem_;
  PoolWindow window_;
  std::optional<StemConvolution> stem_;
};

}  // namespace tenon::cpu
