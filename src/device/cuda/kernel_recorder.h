#pragma once

#include <functional>
#include <vector>

#include "base/status.h"
#include "device/kernel_record.h"

namespace tenon::cuda {

/// Runs `work`, which waits for its streams, and tells of each kernel that it launched
/// from the calling thread; without occupancy and counters. One recording at a time in a process.
Result<std::vector<KernelRecord>> record_launches(const std::function<Status()>& work);

/// Whether there is such a recording now.
bool is_recording();

/// Ranges around launches, on the calling thread; next to nothing while nothing is recorded.
void begin_recorded_range(const char* name);
void end_recorded_range();

}  // namespace tenon::cuda
