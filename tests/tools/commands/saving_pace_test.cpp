#include "tools/commands/saving_pace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace tenon::tools {
namespace {

TEST(SavingPace, FollowsEarlierBuilds) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "paces_of_saving";
  std::filesystem::remove_all(folder);
  setenv("TENON_CACHE_DIR", folder.c_str(), 1);
  EXPECT_NEAR(SavingPace().seconds(2), 0.1, 1e-9);
  SavingPace().saved(1, 3);
  EXPECT_NEAR(SavingPace().seconds(2), 6, 0.1);
  // Larger plans tell more.
  SavingPace().saved(0.01, 1e-3);
  EXPECT_NEAR(SavingPace().seconds(2), 6, 0.3);
  for (int i = 0; i < 20; ++i) SavingPace().saved(1, 0.5);
  EXPECT_NEAR(SavingPace().seconds(2), 1, 0.3);
  unsetenv("TENON_CACHE_DIR");
}

/// One that waited for the disk among others that did not.
TEST(SavingPace, ASlowPlanSaysLittleOfTheNext) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "paces_of_slow_saving";
  std::filesystem::remove_all(folder);
  setenv("TENON_CACHE_DIR", folder.c_str(), 1);
  for (const double seconds : {0.2, 0.2, 0.2, 0.2, 1.6}) SavingPace().saved(0.4, seconds);
  EXPECT_LT(SavingPace().seconds(0.4), 0.4);
  unsetenv("TENON_CACHE_DIR");
}

}  // namespace
}  // namespace tenon::tools
