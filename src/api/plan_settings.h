#pragma once

namespace tenon::api {

/// The setting of plans that were built for every GPU of their compute capability.
inline constexpr const char* kSameCapabilitySetting = "same_compute_capability";

}  // namespace tenon::api
