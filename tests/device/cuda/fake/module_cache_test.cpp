// Which modules stay loaded.
#include "device/cuda/module_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "base/guard.h"
#include "device/cuda/cuda_device.h"

namespace tenon::cuda {
namespace {

/// Before the library looks for the driver.
const int kEnvironment = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

class ModuleCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::open();
    ASSERT_TRUE(device.ok()) << device.error().message;
    device_ = *device;
    ASSERT_TRUE(device_->activate().ok());
  }
  /// Loads it where it is not there.
  ModuleCache::Loaded find(ModuleCache& cache, int key) {
    return cache.find(std::to_string(key), [&] {
      ++loads_;
      return Module::load("code");
    });
  }

  std::shared_ptr<CudaDevice> device_;
  std::atomic<int> loads_ = 0;
};

TEST_F(ModuleCacheTest, KeepsTheUnusedOnesUsedLast) {
  ModuleCache cache(8);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(find(cache, i).ok());
    ASSERT_TRUE(find(cache, 0).ok());
  }
  EXPECT_EQ(loads_, 100);
  EXPECT_LE(cache.size(), 9u);
  ASSERT_TRUE(find(cache, 99).ok() && find(cache, 0).ok());
  EXPECT_EQ(loads_, 100);
  ASSERT_TRUE(find(cache, 1).ok());
  EXPECT_EQ(loads_, 101);
}

TEST_F(ModuleCacheTest, KeepsAllThatAreUsed) {
  ModuleCache cache(8);
  std::vector<std::shared_ptr<const Module>> used;
  for (int i = 0; i < 100; ++i) used.push_back(*find(cache, i));
  EXPECT_EQ(cache.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*find(cache, i), used[static_cast<size_t>(i)]);
  EXPECT_EQ(loads_, 100);
  used.clear();
  ASSERT_TRUE(find(cache, 100).ok());
  EXPECT_LE(cache.size(), 9u);
}

TEST_F(ModuleCacheTest, TriesAgainWhatFailed) {
  ModuleCache cache(8);
  const auto failed =
      cache.find("0", []() -> ModuleCache::Loaded { return user_error("no memory"); });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_TRUE(find(cache, 0).ok());
}

TEST_F(ModuleCacheTest, TriesAgainWhatRanOutOfMemory) {
  ModuleCache cache(8);
  const auto failed = cache.find("0", []() -> ModuleCache::Loaded { throw OutOfMemory(1); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::kResource);
  EXPECT_TRUE(find(cache, 0).ok());
}

TEST_F(ModuleCacheTest, ServesSeveralThreads) {
  ModuleCache cache(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      (void)device_->activate();
      for (int i = 0; i < 400; ++i) EXPECT_TRUE(find(cache, (i * (t + 1)) % 17).ok());
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(find(cache, 17).ok());
  EXPECT_LE(cache.size(), 4u);
}

}  // namespace
}  // namespace tenon::cuda
