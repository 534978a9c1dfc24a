// cuDNN's handles are used again in their own context. Needs no GPU.
#include "kernels/cudnn/idle_handles.h"

#include <gtest/gtest.h>

namespace tenon::cudnn {
namespace {

TEST(IdleHandles, ServeTheirOwnContext) {
  int one = 0, two = 0;
  const auto first = reinterpret_cast<cudnnHandle_t>(&one),
             second = reinterpret_cast<cudnnHandle_t>(&two);
  IdleHandles idle;
  EXPECT_EQ(idle.take(1), nullptr);
  EXPECT_TRUE(idle.put(1, first));
  EXPECT_TRUE(idle.put(2, second));
  EXPECT_EQ(idle.take(3), nullptr);
  EXPECT_EQ(idle.take(2), second);
  EXPECT_EQ(idle.take(2), nullptr);
  EXPECT_EQ(idle.take(1), first);
}

TEST(IdleHandles, AreNotKeptOfAContextThatCannotBeTold) {
  int one = 0;
  IdleHandles idle;
  EXPECT_FALSE(idle.put(0, reinterpret_cast<cudnnHandle_t>(&one)));
  EXPECT_EQ(idle.take(0), nullptr);
}

}  // namespace
}  // namespace tenon::cudnn
