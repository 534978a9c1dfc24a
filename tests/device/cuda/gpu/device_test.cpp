// The device interface, on a GPU; skipped where there is none.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "device/cuda/cuda_device.h"
#include "device/cuda/driver.h"

namespace tenon::cuda {
namespace {

constexpr const char* kDouble =
    "extern \"C\" __global__ void twice(float* x, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= 2;\n}\n";

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::open();
    if (!device.ok()) GTEST_SKIP() << "no GPU: " << device.error().message;
    device_ = *device;
    auto stream = device_->make_stream();
    ASSERT_TRUE(stream.ok()) << stream.error().message;
    stream_ = std::move(*stream);
  }
  Queue queue() const { return {nullptr, stream_.get()}; }

  /// Numbers 0, 1, ... on the device.
  DeviceBuffer ramp(size_t count) {
    values_.resize(count);
    std::iota(values_.begin(), values_.end(), 0.0f);
    auto buffer = device_->allocate(count * sizeof(float));
    EXPECT_TRUE(buffer.ok());
    EXPECT_TRUE(
        device_->upload(buffer->get(), values_.data(), count * sizeof(float), queue()).ok());
    EXPECT_TRUE(device_->synchronize(queue()).ok());
    return std::move(*buffer);
  }
  std::vector<float> fetch(const DeviceBuffer& buffer, size_t count) {
    std::vector<float> values(count);
    EXPECT_TRUE(
        device_->download(values.data(), buffer.get(), count * sizeof(float), queue()).ok());
    EXPECT_TRUE(device_->synchronize(queue()).ok());
    return values;
  }
  Status twice(const DeviceBuffer& buffer, int count) {
    TENON_ASSIGN(const auto module, device_->module({"twice.cu", kDouble, {}, {}}));
    TENON_ASSIGN(const Function function, module->function("twice"));
    const float* x = static_cast<const float*>(buffer.get());
    return function.launch({.grid_x = (static_cast<unsigned>(count) + 255) / 256, .block_x = 256},
                           stream_.get(), x, count);
  }

  std::shared_ptr<CudaDevice> device_;
  DeviceHandle stream_;
  std::vector<float> values_;
};

TEST_F(Gpu, SaysWhatItIs) {
  EXPECT_EQ(device_->properties().kind, DeviceKind::kCuda);
  EXPECT_GE(device_->capability(), 75);
  EXPECT_GT(device_->properties().memory_bytes, size_t{1} << 30);
  RecordProperty("device", device_->properties().name);
  std::cout << device_->properties().name << ", " << device_->properties().libraries << '\n';
}

TEST_F(Gpu, CopiesBothWays) {
  const DeviceBuffer a = ramp(1000);
  const DeviceBuffer b = ramp(10);
  ASSERT_TRUE(device_->copy(b.get(), static_cast<float*>(a.get()) + 500, 40, queue()).ok());
  EXPECT_EQ(fetch(b, 10)[3], 503.0f);
}

TEST_F(Gpu, RunsCompiledCode) {
  const DeviceBuffer buffer = ramp(1000);
  const Status status = twice(buffer, 1000);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(fetch(buffer, 1000)[999], 1998.0f);
}

TEST_F(Gpu, ReplaysCapturedGraphs) {
  const DeviceBuffer buffer = ramp(10);
  ASSERT_TRUE(twice(buffer, 10).ok());
  const auto graph = device_->capture(stream_.get(), [&] { return twice(buffer, 10); });
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(fetch(buffer, 10)[5], 10.0f) << "capturing runs nothing";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(device_->launch_graph(graph->get(), stream_.get()).ok());
  EXPECT_EQ(fetch(buffer, 10)[5], 40.0f);
}

TEST_F(Gpu, StreamsLiveOnAfterACaptureThatFailed) {
  const DeviceBuffer buffer = ramp(10);
  const auto graph = device_->capture(stream_.get(), [&]() -> Status {
    return device_->synchronize(queue());  // Waiting cannot be recorded.
  });
  EXPECT_FALSE(graph.ok());
  ASSERT_TRUE(twice(buffer, 10).ok());
  EXPECT_EQ(fetch(buffer, 10)[5], 10.0f);
}

TEST_F(Gpu, TimesLaunches) {
  const DeviceBuffer small = ramp(100), large = ramp(size_t{1} << 26);
  const auto quick = device_->time(queue(), 8, [&] { return twice(small, 100); });
  const auto slow = device_->time(queue(), 8, [&] { return twice(large, 1 << 26); });
  ASSERT_TRUE(quick.ok() && slow.ok());
  EXPECT_LT(*quick, 0.02);
  EXPECT_GT(*slow, 0.03);
}

TEST_F(Gpu, OutOfMemoryIsAnErrorAndTheDeviceGoesOn) {
  const auto buffer = device_->allocate(size_t{1} << 45);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().kind, ErrorKind::kResource);
  const DeviceBuffer other = ramp(10);
  ASSERT_TRUE(twice(other, 10).ok());
  EXPECT_EQ(fetch(other, 10)[1], 2.0f);
}

TEST_F(Gpu, FreesOnThreadsThatNeverUsedIt) {
  constexpr size_t kBytes = size_t{4} << 30;
  auto buffer = device_->allocate(kBytes);
  if (!buffer.ok()) GTEST_SKIP() << buffer.error().message;
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(driver().cuMemGetInfo(&before, &total), CUDA_SUCCESS);
  std::thread([&] { buffer->reset(); }).join();
  ASSERT_EQ(driver().cuMemGetInfo(&after, &total), CUDA_SUCCESS);
  // Others may use the GPU at the same time.
  EXPECT_GT(after, before + kBytes / 2);
}

TEST_F(Gpu, CodeThatDoesNotCompileIsAnError) {
  const auto module = device_->module({"wrong.cu", "no code", {}, {}});
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message.find("wrong.cu"), std::string::npos);
}

}  // namespace
}  // namespace tenon::cuda
