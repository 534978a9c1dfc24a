#pragma once

namespace tenon::api {

/// The setting of plans that were built for every GPU of their compute capability.
inline constexpr const char* kSameCapabilitySetting = "same_compute_capability";

/// The candidates of each layer, as JSON, where they were recorded.
inline constexpr const char* kCandidatesSetting = "candidates";

}  // namespace tenon::api
