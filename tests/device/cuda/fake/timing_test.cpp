// How often kernels are launched that are timed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "device/cuda/cuda_device.h"

namespace tenon::cuda {
namespace {

/// Before the library looks for the driver.
const int kEnvironment = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

class Timing : public testing::Test {
 protected:
  int launches(int asked) {
    auto device = CudaDevice::open();
    EXPECT_TRUE(device.ok());
    // The more there are, the faster the pretended device is.
    std::vector<DeviceHandle> streams;
    for (int i = 0; i < 10; ++i) {
      auto stream = (*device)->make_stream();
      EXPECT_TRUE(stream.ok());
      streams.push_back(std::move(*stream));
    }
    int count = 0;
    const auto time = (*device)->time({nullptr, streams[0].get()}, asked, [&] {
      ++count;
      return Status();
    });
    EXPECT_TRUE(time.ok());
    return count;
  }
};

/// Two tell how long one is.
TEST_F(Timing, TakesThreeShortLaunchesForEachThatIsAskedFor) {
  EXPECT_EQ(launches(3), 2 + 9);
  EXPECT_EQ(launches(8), 2 + 24);
  EXPECT_EQ(launches(20), 2 + 24);
  EXPECT_EQ(launches(100), 2 + 100);
}

}  // namespace
}  // namespace tenon::cuda
