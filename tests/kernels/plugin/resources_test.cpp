// Memory that plugins ask for.
#include "kernels/plugin/resources.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"

namespace tenon {
namespace {

TEST(PluginResources, GiveMemoryOfPowersOfTwoAndTakeItBackOnce) {
  const std::shared_ptr<Device> device = cpu::make_cpu_device(1);
  Problem problem;
  problem.device = device.get();
  PluginResources resources(problem);
  nvinfer1::IGpuAllocator& allocator = *resources.getGpuAllocator();
  void* const memory = allocator.allocate(100, 256, 0);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(allocator.deallocate(memory));
  EXPECT_FALSE(allocator.deallocate(memory));
  EXPECT_TRUE(allocator.deallocate(nullptr));
  EXPECT_EQ(allocator.allocate(100, 255, 0), nullptr);
  EXPECT_EQ(allocator.allocate(100, 512, 0), nullptr);
  EXPECT_EQ(allocator.allocate(0, 256, 0), nullptr);
}

}  // namespace
}  // namespace tenon
