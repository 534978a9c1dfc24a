#pragma once

#include <memory>

#include "device/device.h"

namespace tenon::cpu {

/// The processor this program runs on. `threads` is the number that timing and kernels assume (0:
/// all that the process may use).
std::unique_ptr<Device> make_cpu_device(int threads = 0);

/// Processors this process may run on.
int available_threads();

}  // namespace tenon::cpu
