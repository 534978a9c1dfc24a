#pragma once

/// Which algorithms a plan may multiply by.

#include "NvInfer.h"

namespace tenon {

/// Algorithms that a plan may multiply by.
enum class Numerics : int32_t {
  /// Convolutions may run by Winograd's transforms and products by Strassen's scheme, where that
  /// was measured to be faster: rounding errors are then some times larger, relative to a tensor's
  /// largest numbers.
  kDefault = 0,
  /// Every product is a sum of products. Rounding to the precisions that were asked for remains
  /// (FP16, BF16, TF32: BuilderFlag::kTF32 is a switch of its own), and so does the order of sums,
  /// which differs from kernel to kernel.
  kExact = 1,
};

/// Sets the algorithms that the builds of a configuration may use. Default: kDefault. GPUs have
/// exact kernels only: there it changes nothing. Returns false, and changes nothing, for other
/// values and for a configuration of another library. Not to be called while a build runs.
TENSORRTAPI bool setNumerics(nvinfer1::IBuilderConfig& config, Numerics numerics) noexcept;
/// Returns the algorithms that the builds of a configuration may use. Default: kDefault.
TENSORRTAPI Numerics getNumerics(const nvinfer1::IBuilderConfig& config) noexcept;

/// Returns the algorithms that the engine's build might use. Detailed layer information names the
/// transform of a layer that has one ("Algorithm": "Winograd" or "Strassen").
TENSORRTAPI Numerics getNumerics(const nvinfer1::ICudaEngine& engine) noexcept;

}  // namespace tenon
