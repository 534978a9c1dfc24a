#pragma once

#include <optional>

#include "device/cpu/worker_memory.h"
#include "kernels/conv/depthwise_ring.h"
#include "kernels/conv/stem.h"

namespace tenon::cpu {

/// Addresses of one run; biases may be null.
struct StemDepthwiseArguments {
  const float* input = nullptr;
  float* output = nullptr;
  const float* stem_bias = nullptr;
  const float* depthwise_bias = nullptr;
};

/// The first convolution of an image network and the depthwise one behind it, in float. A task
/// computes a band of lines from the few lines of the first one that it keeps in its cache: that
/// image, often the largest of the network, is never written.
class StemDepthwise {
 public:
  using Arguments = StemDepthwiseArguments;

  /// Why not, or nothing.
  static Status check(const ConvProblem& stem, const ConvProblem& depthwise);
  /// Weights in ONNX order; `stem.packed` holds both in packed form, or nothing.
  static Result<StemDepthwise> prepare(const ConvProblem& stem, const ConvProblem& depthwise,
                                       const void* stem_weights, const void* depthwise_weights);

  size_t scratch_bytes() const { return worker_bytes() * stem_problem_.threads; }
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  void run(const StemDepthwiseArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  Status pack(const void* stem_weights, const void* depthwise_weights);
  size_t ring_bytes() const;
  size_t worker_bytes() const {
    return worker_stride(ring_bytes() + stem_->line_scratch_bytes(), stem_problem_.threads);
  }
  int64_t bands() const;
  void run_band(const StemDepthwiseArguments& arguments, int64_t image, int64_t first, int64_t end,
                char* scratch) const;
  void stem_line(const StemDepthwiseArguments& arguments, int64_t image, int64_t line,
                 char* scratch) const;

  ConvProblem stem_problem_;
  std::optional<StemConvolution> stem_;
  RegisterEpilogue stem_registers_;
  DepthwiseRing ring_;  ///< Of the first one's lines.
  PackedWeights packed_;
  size_t stem_bytes_ = 0;  ///< of `packed_`; the depthwise weights follow
};

}  // namespace tenon::cpu
