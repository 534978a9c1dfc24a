#pragma once

/// Mixed precision with a budget.

#include "NvInfer.h"

namespace tenon {

/// Limits the effect of BuilderFlag::kFP16 or kBF16 on a weakly typed network: layers that make
/// numbers beyond the type's range stay in FP32, and as few of the most sensitive ones as keep the
/// relative L2 error of the outputs within `error`. The build names them with the reason. Judged on
/// random inputs; builds take longer. Negative, the default, for no budget. Returns false for a
/// configuration of another library. trtexec: --fp16=auto, --bf16=auto.
TENSORRTAPI bool setPrecisionBudget(nvinfer1::IBuilderConfig& config, double error) noexcept;

/// Returns the error that `--fp16=auto` and `--bf16=auto` allow.
TENSORRTAPI double usualPrecisionBudget(nvinfer1::BuilderFlag flag) noexcept;

}  // namespace tenon
