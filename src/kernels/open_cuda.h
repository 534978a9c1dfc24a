#pragma once

#include "kernels/backend.h"

namespace tenon {

/// Exports of libtenon_cuda, as `extern "C"` under kOpenCudaName: the GPU of that number, or the
/// one that is described (unless null), with its tactics. The types on both sides must come from
/// one build, which `stamp` checks.
using OpenCuda = void (*)(int ordinal, const DeviceProperties* described, const char* stamp,
                          Result<Backend>* result);
inline constexpr char kOpenCudaName[] = "tenon_open_cuda";
inline constexpr char kOpenCudaStamp[] = "tenon 0.1, 2, " __VERSION__;

}  // namespace tenon
