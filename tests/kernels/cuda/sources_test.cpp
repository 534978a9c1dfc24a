// Every file of device code compiles, with its defaults, for each generation; no GPU is needed.
#include "kernels/cuda/sources.h"

#include <gtest/gtest.h>

#include "device/cuda/nvrtc.h"

namespace tenon::cuda {
namespace {

class DeviceSource : public ::testing::TestWithParam<int> {};

TEST_P(DeviceSource, Compiles) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  const SourceFile& source = device_sources()[static_cast<size_t>(GetParam())];
  for (const int capability : {75, 80, 90}) {
    const auto binary = compile_device_code(
        {std::string(source.name), std::string(source.text), {}, device_sources()}, capability);
    EXPECT_TRUE(binary.ok()) << "sm_" << capability << ": " << binary.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSource,
                         ::testing::Range(0, static_cast<int>(device_sources().size())),
                         [](const auto& info) {
                           std::string name(device_sources()[static_cast<size_t>(info.param)].name);
                           for (char& c : name)
                             if (!isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace tenon::cuda
