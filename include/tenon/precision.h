#pragma once

/// Mixed precision with a budget.

#include "NvInfer.h"

namespace tenon {

/// Where BuilderFlag::kFP16 or kBF16 let layers of a weakly typed network compute in 16 bits, those
/// stay in FP32 that make numbers beyond the type's range, and as few of the most sensitive ones as
/// keep the relative L2 error of the outputs within `error`. The build names them with the reason.
/// Judged on random inputs; builds take longer. Negative: no budget, as at first. False when the
/// configuration is not of this library. trtexec: --fp16=auto, --bf16=auto.
TENSORRTAPI bool setPrecisionBudget(nvinfer1::IBuilderConfig& config, double error) noexcept;

/// The error that `--fp16=auto` and `--bf16=auto` allow.
TENSORRTAPI double usualPrecisionBudget(nvinfer1::BuilderFlag flag) noexcept;

}  // namespace tenon
