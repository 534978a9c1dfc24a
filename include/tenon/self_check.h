#pragma once

/// Builds that check themselves: the outputs of a new plan are compared with the reference
/// implementation of every operator, and a pass or kernel that is wrong is left out. And a search
/// for the first node of a network that makes a NaN or an infinity.

#include "NvInfer.h"

namespace tenon {

/// On from optimization level 3 unless switched off. Networks that cost the reference more than
/// `maxCost` multiplications are not checked; -1 keeps the usual limit.
TENSORRTAPI bool setSelfCheck(nvinfer1::IBuilderConfig& config, bool enabled,
                              int64_t maxCost = -1) noexcept;

/// Self-checks also compare the results of each region of the plan with the reference's on the same
/// operands, and values inside the network that the plan still computes; a mistake that the outputs
/// do not show is found, and a warning names the region. On at optimization level 5; builds take
/// several times as long.
TENSORRTAPI bool setRegionCheck(nvinfer1::IBuilderConfig& config, bool enabled) noexcept;

/// What the check said when the engine was built: "passed", "passed without PASS:NODE", "not done:
/// REASON", or "failed"; empty where none was asked for.
TENSORRTAPI const char* getSelfCheckResult(const nvinfer1::ICudaEngine& engine) noexcept;

/// Evaluates the network with the reference in fp32, then with fp16 and bf16 where that pays, and
/// describes the first node that makes a NaN or an infinity out of finite inputs, one line a
/// precision. Inputs have the extents of the profile's optimum; `inputs` holds their contents in
/// the order of the network, or is null for random ones. Fills at most `size` bytes of `report`,
/// null-terminated. Returns the number of precisions with such a node, or -1 after an error in
/// `logger`.
TENSORRTAPI int32_t huntNonFinite(nvinfer1::INetworkDefinition& network,
                                  const nvinfer1::IOptimizationProfile& profile,
                                  const void* const* inputs, char* report, int64_t size,
                                  nvinfer1::ILogger& logger) noexcept;

}  // namespace tenon
