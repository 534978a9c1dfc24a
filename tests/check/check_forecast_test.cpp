// The time that a check may take.
#include "check/check_forecast.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(CheckForecast, RegionsGetTheRestOfAQuarterAndAPartAtLeast) {
  EXPECT_DOUBLE_EQ(CheckForecast::look_seconds(30, 4), 6);
  EXPECT_GT(CheckForecast::look_seconds(30, 100), 2);
  EXPECT_LT(CheckForecast::look_seconds(30, 100), 3);
  EXPECT_GE(CheckForecast::look_seconds(0, 1), 0.1);
}

}  // namespace
}  // namespace tenon
