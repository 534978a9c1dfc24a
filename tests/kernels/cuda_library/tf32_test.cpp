#include "kernels/cuda/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon::cuda {
namespace {

TEST(Tf32, IsTheNearestOfTenBits) {
  const float step = std::ldexp(1.0f, -10);
  EXPECT_EQ(rounded_to_tf32(1.0f), 1.0f);
  EXPECT_EQ(rounded_to_tf32(-1.0f - step), -1.0f - step);
  EXPECT_EQ(rounded_to_tf32(1.0f + 0.49f * step), 1.0f);
  EXPECT_EQ(rounded_to_tf32(1.0f + 0.51f * step), 1.0f + step);
  EXPECT_EQ(rounded_to_tf32(-1.0f - 0.51f * step), -1.0f - step);
  EXPECT_EQ(rounded_to_tf32(2.0f - step / 8), 2.0f);
}

TEST(Tf32, TakesTheEvenOneOfTwo) {
  const float step = std::ldexp(1.0f, -10);
  EXPECT_EQ(rounded_to_tf32(1.0f + 0.5f * step), 1.0f);
  EXPECT_EQ(rounded_to_tf32(1.0f + 1.5f * step), 1.0f + 2 * step);
}

TEST(Tf32, KeepsWhatIsNotFiniteAndStaysFinite) {
  EXPECT_TRUE(std::isinf(rounded_to_tf32(INFINITY)));
  EXPECT_TRUE(std::isnan(rounded_to_tf32(NAN)));
  EXPECT_TRUE(std::isfinite(rounded_to_tf32(std::numeric_limits<float>::max())));
}

}  // namespace
}  // namespace tenon::cuda
