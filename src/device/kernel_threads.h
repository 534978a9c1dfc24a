#pragma once

#include "device/device.h"

namespace tenon {

/// Threads of the host that the device's kernels use: 1 where the host only launches them.
inline int kernel_threads(const Device& device) {
  return device.capabilities().host_cores ? device.properties().compute_units : 1;
}

}  // namespace tenon
