// The context of a device that is closed, and opened again.
#include "device/cuda/lasting_context.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/cuda/cuda_device.h"
#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

/// Before the library looks for the driver.
const int kEnvironment = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

int calls(const char* function) {
  void* const driver = dlopen(FAKE_DRIVER "/libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<int (*)(const char*)>(dlsym(driver, "fake_driver_calls"))(function);
}

int retained() {
  return calls(TENON_CUDA_STRING(cuDevicePrimaryCtxRetain)) -
         calls(TENON_CUDA_STRING(cuDevicePrimaryCtxRelease));
}

TEST(LastingContext, StaysWhenTheDeviceIsClosed) {
  { ASSERT_TRUE(CudaDevice::open().ok()); }
  EXPECT_EQ(retained(), 1);
  for (int i = 0; i < 3; ++i) {
    const auto device = CudaDevice::open();
    ASSERT_TRUE(device.ok());
    ASSERT_TRUE((*device)->activate().ok());
    EXPECT_NE(current_context(), 0u);
    EXPECT_EQ(retained(), 2);
  }
  EXPECT_EQ(retained(), 1);
}

}  // namespace
}  // namespace tenon::cuda
