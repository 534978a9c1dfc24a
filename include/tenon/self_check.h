#pragma once

/// Builds that check themselves: what each kernel of a new plan makes of its operands is compared
/// with the reference implementation of its operators, and the outputs with those of the network as
/// it was given, against what rounding to the plan's types does by itself. A pass or kernel that is
/// wrong is left out; precision that was asked for is not. And a search for the first node of a
/// network that makes a NaN or an infinity.

#include "NvInfer.h"

namespace tenon {

/// Has builds compare the new plan with the reference implementation. On from optimization level 3
/// unless switched off. Networks that cost the reference more than `maxCost` multiplications are
/// not checked; -1 keeps the usual limit: 12e9, and 200e9 in plans for GPUs. Returns false for a
/// configuration of another library.
TENSORRTAPI bool setSelfCheck(nvinfer1::IBuilderConfig& config, bool enabled,
                              int64_t maxCost = -1) noexcept;

/// Has self-checks compare every region of the plan however long it takes (else as many as a
/// quarter of the build's time allows, new kinds first), and values inside the network that the
/// plan still computes; a warning names a region whose mistake the outputs do not show. On at
/// optimization level 5; builds take several times as long. Returns false for a configuration of
/// another library.
TENSORRTAPI bool setRegionCheck(nvinfer1::IBuilderConfig& config, bool enabled) noexcept;

/// Makes a failed self-check a warning. Off by default: a plan that stays wrong whichever pass or
/// kernel is left out is an error, and there is no plan. Returns false for a configuration of
/// another library.
TENSORRTAPI bool allowFailedSelfCheck(nvinfer1::IBuilderConfig& config, bool allowed) noexcept;

/// Returns the result of the self-check when the engine was built: "passed", "passed without
/// PASS:NODE" (or a kernel's name), "not done: REASON", or (where allowFailedSelfCheck() let it)
/// "failed: REASON"; "" where none was asked for. The text lives as long as the engine.
TENSORRTAPI const char* getSelfCheckResult(const nvinfer1::ICudaEngine& engine) noexcept;

/// Whether a search is to end; called ahead of each iteration of a loop, and must not throw.
using HuntStop = bool (*)(void* argument) noexcept;

/// Evaluates the network with the reference in FP32, then in FP16 and BF16 where that pays, and
/// describes the first node that makes a NaN or an infinity from finite inputs, one line for each
/// precision. Inputs have the profile's best dimensions; `inputs` holds their contents in host
/// memory in the order of the network, or is null for random ones. Fills at most `size` bytes of
/// `report`, null-terminated. Returns the number of precisions with such a node, or -1 after an
/// error in `logger`.
TENSORRTAPI int32_t huntNonFinite(nvinfer1::INetworkDefinition& network,
                                  const nvinfer1::IOptimizationProfile& profile,
                                  const void* const* inputs, char* report, int64_t size,
                                  nvinfer1::ILogger& logger) noexcept;
/// Searches like the overload above, and ends with an error where `asked(argument)` is true; null
/// for none.
TENSORRTAPI int32_t huntNonFinite(nvinfer1::INetworkDefinition& network,
                                  const nvinfer1::IOptimizationProfile& profile,
                                  const void* const* inputs, char* report, int64_t size,
                                  nvinfer1::ILogger& logger, HuntStop asked,
                                  void* argument) noexcept;

}  // namespace tenon
