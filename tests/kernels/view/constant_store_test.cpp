// Constants on a device that kernels share.
#include "kernels/constant_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "select/made_up_device.h"

namespace tenon {
namespace {

class SharedConstants : public testing::Test {
 protected:
  /// The part for a recipe of a tensor's; `made_` counts how often it was made.
  ConstantStore::Part part(const std::string& recipe) {
    auto found = store_.share_made(tensor_, recipe, [&] {
      ++made_;
      return std::vector<std::byte>(64, std::byte{static_cast<unsigned char>(recipe.size())});
    });
    EXPECT_TRUE(found.ok());
    return std::move(found).value();
  }

  MadeUpDevice device_;
  ConstantStore store_{device_};
  Tensor tensor_{DataType::kFloat32, {4}};
  int made_ = 0;
};

TEST_F(SharedConstants, GoWithTheirLastOwner) {
  part("a");
  part("a");
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedConstants, StayWhereTheyAreKept) {
  store_.keep_shared(1000);
  const void* const first = part("a").buffer.get();
  EXPECT_EQ(part("a").buffer.get(), first);
  EXPECT_EQ(made_, 1);
  store_.keep_shared(0);
  part("a");
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedConstants, AreKeptUpToALimit) {
  store_.keep_shared(100);
  part("a"), part("bb");
  part("a"), part("bb");
  EXPECT_EQ(made_, 3) << "64 bytes of the first one alone";
}

/// Each upload goes on once both have been asked for.
class Uploads final : public MadeUpDevice {
 public:
  Status upload(void* to, const void* from, size_t bytes, Queue queue) override {
    {
      std::unique_lock lock(mutex_);
      ++begun_;
      changed_.notify_all();
      met &= changed_.wait_for(lock, std::chrono::seconds(20), [&] { return begun_ >= 2; });
    }
    return MadeUpDevice::upload(to, from, bytes, queue);
  }
  bool met = true;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
};

TEST(UploadsOfSharedConstants, DoNotWaitForEachOther) {
  Uploads device;
  ConstantStore store(device);
  const char contents[] = {1, 2};
  std::jthread other([&] { EXPECT_TRUE(store.share(contents, 1).ok()); });
  EXPECT_TRUE(store.share(contents + 1, 1).ok());
  other.join();
  EXPECT_TRUE(device.met);
}

TEST(UploadsOfSharedConstants, OfEqualOnesGiveTheSameMemory) {
  Uploads device;
  ConstantStore store(device);
  const char contents = 1;
  DeviceBuffer one, two;
  std::jthread other([&] { one = store.share(&contents, 1).value(); });
  two = store.share(&contents, 1).value();
  other.join();
  EXPECT_TRUE(device.met);
  EXPECT_EQ(one.get(), two.get());
}

}  // namespace
}  // namespace tenon
