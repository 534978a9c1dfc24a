#pragma once

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/jit/window.h"

namespace tenon {

/// A convolution over concrete operands, in the terms of our own kernels for NVIDIA GPUs.
struct DeviceConvolution {
  AnchoredRegion region;
  DeviceWindow window;
  int input = 0, weights = 0;
  int64_t groups = 1, in_channels = 1, out_channels = 1;
  bool transposed = false;
  std::vector<ExtraStep> bias;  ///< The step that adds it, if there is one.
};

/// Fails with the reason where the problem is no convolution, or one that no kernel of ours takes.
/// `quantized`: its region may end in a quantization.
Result<DeviceConvolution> describe_device_convolution(const Problem& problem,
                                                      bool quantized = false);

/// Makes weights in another order of axes, dense: extents and strides (of the constant) in that
/// order.
JitConstant reordered_weights(const Tensor& weights, Extents extents, std::vector<int64_t> strides);

}  // namespace tenon
