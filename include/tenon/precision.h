#pragma once

/// Mixed precision with a budget.

#include "NvInfer.h"
#include "tenon/reference.h"

namespace tenon {

/// Limits the effect of BuilderFlag::kFP16 or kBF16 on a weakly typed network: layers that make
/// numbers beyond the type's range stay in FP32, and as few of the most sensitive ones as keep the
/// relative L2 error of the outputs within `error`. The build names them with the reason. Judged on
/// random inputs; builds take longer. Negative, the default, for no budget. Returns false for a
/// configuration of another library. trtexec: --fp16=auto, --bf16=auto.
TENSORRTAPI bool setPrecisionBudget(nvinfer1::IBuilderConfig& config, double error) noexcept;

/// Limits the effect of BuilderFlag::kINT8 or kFP8: of the layers that read numbers quantized by
/// QuantizeLinear and DequantizeLinear, or by ranges, as few of the most sensitive ones as keep the
/// relative L2 error of the outputs within `error` read the numbers as they are. Otherwise as
/// setPrecisionBudget(). trtexec: --int8=auto, --fp8=auto.
TENSORRTAPI bool setQuantizationBudget(nvinfer1::IBuilderConfig& config, double error) noexcept;

/// Returns the error that `--fp16=auto`, `--bf16=auto`, `--int8=auto` and `--fp8=auto` allow.
TENSORRTAPI double usualPrecisionBudget(nvinfer1::BuilderFlag flag) noexcept;

/// Evaluates the network on the CPU as a plan in `type` does, kHALF or kBF16: operators of f32 that
/// gain from it compute in that type but for the layers of these names, `count` of them; with
/// kFLOAT none does. Extents are those of the profile's optimum, `inputs` the contents of inputs in
/// the network's order, or null for random ones, and the visitor is shown the outputs. Numbers
/// beyond a type's range become infinities, also where the CPU itself has no arithmetic in it.
/// False, and an error in `logger`, where the network cannot be evaluated.
TENSORRTAPI bool evaluateLowered(nvinfer1::INetworkDefinition& network,
                                 const nvinfer1::IOptimizationProfile& profile,
                                 const void* const* inputs, nvinfer1::DataType type,
                                 const char* const* kept, int32_t count, IValueVisitor& visitor,
                                 nvinfer1::ILogger& logger) noexcept;

}  // namespace tenon
