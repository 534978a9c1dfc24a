#pragma once

#include <cuda.h>

#include <cstdint>

#include "base/status.h"

namespace tenon::cuda {

/// The context's number, which no other context of the process has or had: after a reset of the
/// device another context may lie at the same address. 0 where the driver cannot tell
/// (before 12.0).
uint64_t number_of(CUcontext context);
/// Of the calling thread's context.
uint64_t current_context();

/// Has a primary context that its caller has retained stay until the process ends, as CUDA's run
/// time does: making another one takes 0.2 s. Contexts without a number go with their last user.
Status keep_context(CUdevice device, CUcontext context);

}  // namespace tenon::cuda
