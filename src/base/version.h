#pragma once

namespace tenon {

/// The version of the TensorRT surface that this library implements, as in
/// include/NvInferVersion.h.
inline constexpr int kApiMajor = 10, kApiMinor = 16, kApiPatch = 0, kApiBuild = 72;

}  // namespace tenon
