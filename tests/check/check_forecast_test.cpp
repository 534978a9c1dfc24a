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

/// A reference that was evaluated ahead is not waited for again; it counts for the check's share.
TEST(CheckForecast, AReferenceAheadIsNotWaitedForAgain) {
  const BuildForecast kernels;
  const BuildWatch::Known known{kernels, kernels.pace(), 1, 0, 32};
  CheckForecast forecast;
  forecast.costs = std::vector<NodeCost>(1000, {1e8, 0});
  forecast.plain = PlainPace{1e-10, 1e-9};
  forecast.reference_took = 2;
  const double waited = forecast.seconds(known);
  forecast.reference_ahead = 2;
  EXPECT_NEAR(waited - forecast.seconds(known), 2 + 2.0 / 3, 0.2);
  EXPECT_NEAR(forecast.seconds(known), 8, 0.2);
}

}  // namespace
}  // namespace tenon
