// How fast a machine evaluates networks by kernels that were not tuned.
#include "check/plain_pace.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(PlainPace, IsMeasuredForLargeNetworks) {
  auto pace = PlainPace::measured(1e10);
  ASSERT_TRUE(pace.has_value());
  // On a busy machine less work may take longer than more: the pace is not known then.
  for (int i = 0; i < 30 && pace->kernels == 0; ++i) pace = PlainPace::measured(1e10);
  EXPECT_GT(pace->kernels, 1e-14);
  EXPECT_LT(pace->kernels, 1e-8);
  EXPECT_GT(pace->loops, 1e-13);
  EXPECT_LT(pace->loops, 1e-6);
}

/// Loops take little time to be measured.
TEST(PlainPace, OfLoopsIsMeasuredForMiddlingOnes) {
  const auto pace = PlainPace::measured(1e8);
  ASSERT_TRUE(pace.has_value());
  EXPECT_EQ(pace->kernels, 0);
  EXPECT_GT(pace->loops, 1e-13);
  EXPECT_GT(pace->element, 1e-13);
  EXPECT_LT(pace->element, 1e-5);
}

TEST(PlainPace, IsGuessedForSmallOnes) {
  EXPECT_FALSE(PlainPace::measured(1e6).has_value());
  const PlainPace pace = PlainPace::guessed(1e-9), twice = PlainPace::guessed(2e-9);
  EXPECT_GT(pace.loops, pace.kernels);
  EXPECT_DOUBLE_EQ(twice.loops, 2 * pace.loops);
  EXPECT_DOUBLE_EQ(twice.kernels, 2 * pace.kernels);
}

}  // namespace
}  // namespace tenon
