#pragma once

#include <fmt/format.h>

#include "device/device.h"

namespace tenon {

/// A GPU that is not there: an H200's numbers, under any compute capability from 75 on.
inline DeviceProperties gpu_of(int capability) {
  DeviceProperties properties;
  properties.kind = DeviceKind::kCuda;
  properties.name = "NVIDIA H200";
  properties.architecture = fmt::format("sm_{}", capability);
  properties.compute_units = 132;
  properties.compute_capability = capability;
  properties.memory_bytes = size_t{139} << 30;
  properties.shared_memory_per_block = 232448;
  properties.cache_bytes = size_t{50} << 20;
  properties.native_bf16 = capability >= 80;
  properties.native_fp16 = true;
  return properties;
}

}  // namespace tenon
