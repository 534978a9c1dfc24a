#pragma once

#include <gtest/gtest.h>

#include "device/described_device.h"
#include "kernels/backend.h"

namespace tenon {

/// A GPU of that compute capability that is described alone, and its kernels.
inline Backend gpu(int architecture) {
  const auto properties = parse_description(fmt::format(
      "name = GPU\narchitecture = sm_{0}\nlibraries = driver 13.0, nvrtc 13.0\ncompute_units = 80\n"
      "compute_capability = {0}\nmemory_bytes = 40000000000\nshared_memory_per_block = {1}\n"
      "cache_bytes = 41943040\n"
      "native_bf16 = {2}\nnative_fp16 = 1\n",
      architecture, architecture == 75 ? 65536 : 101376, architecture >= 80 ? 1 : 0));
  EXPECT_TRUE(properties.ok()) << properties.error().message;
  return {std::make_shared<DescribedDevice>(*properties), cuda_tactics()};
}

}  // namespace tenon
