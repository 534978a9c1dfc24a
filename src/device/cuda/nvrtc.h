#pragma once

#include <nvrtc.h>

#include <string>

#include "base/status.h"

namespace tenon::cuda {

/// The run-time compiler's functions.
struct Nvrtc {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/nvrtc.def"
  std::string version;  ///< For people and cache keys.
};

/// Opened on first use. The error says where it was looked for.
Result<const Nvrtc*> load_nvrtc();

}  // namespace tenon::cuda
