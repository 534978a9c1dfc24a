#pragma once

namespace tenon::api {

/// The setting of plans that were built for every GPU of their compute capability.
inline constexpr const char* kSameCapabilitySetting = "same_compute_capability";

/// The candidates of each layer, as JSON, where they were recorded.
inline constexpr const char* kCandidatesSetting = "candidates";

/// Which layers got the precisions that were allowed, and the reasons of others, a line each.
inline constexpr const char* kPrecisionSummarySetting = "precision_summary";

/// The network's name.
inline constexpr const char* kNameSetting = "name";
/// The number of the ProfilingVerbosity.
inline constexpr const char* kProfilingVerbositySetting = "profiling_verbosity";
/// Of plans of kDETAILED: metadata of layers (api/layer_metadata.h), as JSON.
inline constexpr const char* kMetadataSetting = "metadata";
/// Names of the weights that engines of kREFIT_INDIVIDUAL may change, a line each.
inline constexpr const char* kRefittableSetting = "refit.only";

/// Names of the tensors that debug listeners see, a line each, and of the tensors among them
/// that are outputs for their sake alone.
inline constexpr const char* kDebugSetting = "debug";
inline constexpr const char* kDebugHiddenSetting = "debug.hidden";
/// Of networks with markUnfusedTensorsAsDebugTensors.
inline constexpr const char* kDebugUnfusedSetting = "debug.unfused";
/// Of plans that were built with kWEIGHT_STREAMING.
inline constexpr const char* kWeightStreamingSetting = "weight_streaming";
/// The number of the configuration's TacticSources.
inline constexpr const char* kTacticSourcesSetting = "tactic_sources";

/// Of plans whose network quantizes by ranges (quantize_by_ranges), so that they can be refitted.
inline constexpr const char* kRangesSetting = "refit.ranges";

/// Before the name of an input or output that is not linear; the value is network::to_text(format).
inline constexpr const char* kFormatSetting = "format:";

}  // namespace tenon::api
