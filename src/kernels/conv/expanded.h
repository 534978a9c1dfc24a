#pragma once

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/conv/depthwise_ring.h"
#include "kernels/gemm/microkernel.h"

namespace tenon::cpu {

/// Addresses of one run; biases may be null.
struct ExpandedArguments {
  const float* input = nullptr;
  float* output = nullptr;
  const float* expand_bias = nullptr;
  const float* depthwise_bias = nullptr;
  std::span<const std::byte> ahead;  ///< See tenon::LaunchArguments.
};

/// A 1x1 convolution and the depthwise one behind it, in float. A task computes a few channels of a
/// band of lines; of the expanded image, often the largest of a network, it has only the lines that
/// its first-level cache takes.
class ExpandedDepthwise {
 public:
  using Arguments = ExpandedArguments;

  /// Why not, or nothing.
  static Status check(const ConvProblem& expand, const ConvProblem& depthwise);
  /// Weights in ONNX order; `expand.packed` holds both in packed form, or nothing.
  static Result<ExpandedDepthwise> prepare(const ConvProblem& expand, const ConvProblem& depthwise,
                                           const void* expand_weights,
                                           const void* depthwise_weights);

  size_t scratch_bytes() const { return worker_bytes() * expand_.threads; }
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  void run(const ExpandedArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// A task: lines [first, end) of the output and those under them, a panel of channels.
  struct Task {
    const ExpandedArguments& arguments;
    int64_t image, first, end, input_first, input_end;
    int64_t channel, channels;
    std::span<const std::byte> ahead;
    float* ring;  ///< The expanded lines.
  };

  int64_t share_of(int64_t thread) const;
  int64_t time_of(int64_t first, int64_t end, int64_t thread) const;
  void choose_bands();
  void pack(const void* expand_weights, const void* depthwise_weights);
  int64_t chunks() const;
  int64_t tasks() const { return expand_.batch * bands_ * chunks(); }
  size_t worker_bytes() const;
  Task task(const ExpandedArguments& arguments, int64_t index, float* ring) const;
  void run_task(const Task& task) const;
  void expand_line(const Task& task, int64_t line) const;

  ConvProblem expand_;
  const Microkernels* kernels_ = nullptr;
  RegisterEpilogue expand_registers_;
  int64_t bands_ = 1;
  DepthwiseRing ring_;  ///< Of the expanded lines that a task has at a time.
  PackedWeights packed_;
  size_t expand_bytes_ = 0;  ///< of `packed_`; the depthwise weights follow
};

}  // namespace tenon::cpu
