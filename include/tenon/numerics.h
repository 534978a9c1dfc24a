#pragma once

/// Which algorithms a plan may multiply by.

#include "NvInfer.h"

namespace tenon {

enum class Numerics : int32_t {
  /// Convolutions may run by Winograd's transforms and products by Strassen's scheme, where that
  /// was
  /// measured to be faster: rounding errors are then some times larger, relative to a tensor's
  /// largest
  /// numbers.
  kDefault = 0,
  /// Every product is a sum of products. Rounding to the precisions that were asked for remains
  /// (FP16, BF16, TF32: BuilderFlag::kTF32 is a switch of its own), and so does the order of sums,
  /// which differs from kernel to kernel.
  kExact = 1,
};

/// What the builds of a configuration may use; kDefault unless set. GPUs have no kernels but exact
/// ones: there it changes nothing. False, and nothing changes, for other values and configurations
/// that are not of this library. Not to be called while a build runs.
TENSORRTAPI bool setNumerics(nvinfer1::IBuilderConfig& config, Numerics numerics) noexcept;
TENSORRTAPI Numerics getNumerics(const nvinfer1::IBuilderConfig& config) noexcept;

/// What the engine was built with. Which of its layers use a transform, detailed layer information
/// says ("Algorithm": "Winograd" or "Strassen"; layers without have none).
TENSORRTAPI Numerics getNumerics(const nvinfer1::ICudaEngine& engine) noexcept;

}  // namespace tenon
