// Constants that kernels keep in an order of their own, where an engine streams its weights.
#include <algorithm>
#include <mutex>

#include "kernels/movable_constants.h"
#include "one_kernel.h"
#include "runtime/weight_store.h"

namespace tenon {
namespace {

constexpr size_t kBytes = WeightStore::kLeastBytes;

class StreamingDevice final : public MadeUpDevice {
 public:
  explicit StreamingDevice(size_t budget) : weights(*this, {}, budget) {}
  Result<DeviceHandle> make_pinned(size_t bytes) override {
    return DeviceHandle(std::malloc(bytes), [](void* memory) { std::free(memory); });
  }
  WeightStore weights;
  std::mutex making;  ///< Kernels are made by several threads.
  int kernels = 0;
  std::vector<int> found;      ///< The numbers of kernels that ran with their own block, else -1.
  const void* from = nullptr;  ///< Where the last one read it.
  std::vector<const void*> kept;  ///< Where they keep it.
};

/// Reads a block that is full of its number.
class Keeper final : public Kernel, public MovableConstants {
 public:
  explicit Keeper(StreamingDevice& device)
      : device_(device), block_(device.weights.kernel_memory()(kBytes).value()) {
    const std::lock_guard lock(device.making);
    number_ = ++device.kernels;
    std::memset(block_.get(), number_, kBytes);
    device.kept.push_back(block_.get());
  }
  Status run(const LaunchArguments& arguments) const override {
    const void* const own = block_.get();
    return run_with(arguments, {&own, 1});
  }
  std::vector<Block> blocks() const override { return {{block_.get(), kBytes}}; }
  Status run_with(const LaunchArguments&, std::span<const void* const> blocks) const override {
    if (blocks.size() != 1 || blocks[0] == nullptr) return internal_error("no block");
    const std::span bytes(static_cast<const unsigned char*>(blocks[0]), kBytes);
    const bool own = std::ranges::all_of(bytes, [&](unsigned char b) { return b == number_; });
    device_.found.push_back(own ? number_ : -1);
    device_.from = blocks[0];
    return {};
  }

 private:
  StreamingDevice& device_;
  DeviceBuffer block_;
  int number_ = 0;  ///< In the order in which kernels were made, which may be any.
};

std::shared_ptr<StreamingDevice> ran_with(size_t budget) {
  const auto device = std::make_shared<StreamingDevice>(budget);
  run_with_one_kernel<Keeper>(device, "cuda.keeper", R"(graph "" (%0 "x": f32[8]) {
    %1 = exp(%0) : f32[8]
    %2 = log(%1) : f32[8]
    %3 = exp(%2) : f32[8]
    return %3})",
                              {}, &device->weights);
  return device;
}

TEST(StreamedConstants, ReachTheKernelsThatKeepThem) {
  for (const size_t kept : {0, 1, 2, 3}) {
    const auto device = ran_with(kept * kBytes);
    std::ranges::sort(device->found);
    EXPECT_EQ(device->found, std::vector({1, 2, 3})) << kept;
    EXPECT_EQ(std::ranges::count(device->kept, device->from), 0) << "read over the link";
  }
}

}  // namespace
}  // namespace tenon
