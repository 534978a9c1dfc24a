#pragma once

/// Builds that check themselves: what each kernel of a new plan makes of its operands is compared
/// with the reference implementation of its operators, and the outputs with those of the network as
/// it was given, against what rounding to the plan's types does by itself. A pass or kernel that is
/// wrong is left out; precision that was asked for is not. And a search for the first node of a
/// network that makes a NaN or an infinity.

#include "NvInfer.h"

namespace tenon {

/// On from optimization level 3 unless switched off. Networks that cost the reference more than
/// `maxCost` multiplications are not checked; -1 keeps the usual limit.
TENSORRTAPI bool setSelfCheck(nvinfer1::IBuilderConfig& config, bool enabled,
                              int64_t maxCost = -1) noexcept;

/// Self-checks compare every region of the plan however long it takes (else as many as a quarter of
/// the build's time is enough for, new kinds first), and values inside the network that the plan
/// still computes; a mistake of a pass that the outputs do not show is found, and a warning names
/// the region. On at optimization level 5; builds take several times as long.
TENSORRTAPI bool setRegionCheck(nvinfer1::IBuilderConfig& config, bool enabled) noexcept;

/// A plan that stays wrong whatever pass or kernel is left out is an error, and there is no plan;
/// with `allowed` it is a warning. Off unless switched on.
TENSORRTAPI bool allowFailedSelfCheck(nvinfer1::IBuilderConfig& config, bool allowed) noexcept;

/// What the check said when the engine was built: "passed", "passed without PASS:NODE" (or a
/// kernel's name), "not done: REASON", or (where allowFailedSelfCheck let it) "failed: REASON";
/// empty where none was asked for.
TENSORRTAPI const char* getSelfCheckResult(const nvinfer1::ICudaEngine& engine) noexcept;

/// Whether a search is to end; called ahead of each iteration of a loop, and must not throw.
using HuntStop = bool (*)(void* argument) noexcept;

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
/// The same, which ends with an error where `asked(argument)` is true; null asks nobody.
TENSORRTAPI int32_t huntNonFinite(nvinfer1::INetworkDefinition& network,
                                  const nvinfer1::IOptimizationProfile& profile,
                                  const void* const* inputs, char* report, int64_t size,
                                  nvinfer1::ILogger& logger, HuntStop asked,
                                  void* argument) noexcept;

}  // namespace tenon
