#pragma once

#include <cuda.h>

#include <functional>
#include <span>

#include "base/status.h"
#include "device/kernel_record.h"

namespace tenon::cuda {

/// Runs `work`, which waits for its streams, with each kernel as often as the counters
/// take, and sets the counters of the kernels, which are in the order of their launches.
Status count_launches(CUcontext context, int ordinal, std::span<KernelRecord> kernels,
                      const std::function<Status()>& work);
/// Whether count_launches() is under way: a graph would be counted as one kernel.
bool is_counting();

}  // namespace tenon::cuda
