// Constants on a device that kernels share.
#include "kernels/constant_store.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tenon
