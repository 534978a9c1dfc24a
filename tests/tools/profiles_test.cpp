#include "tools/profiles.h"

#include <gtest/gtest.h>

namespace tenon::tools {
namespace {

Result<std::vector<ProfileShapes>> profiles_of(std::vector<const char*> words) {
  NullLogger log;
  auto arguments = parse_arguments(words);
  EXPECT_TRUE(arguments.ok());
  return parse_profiles(*arguments, log);
}

int64_t first_extent(const std::vector<NamedShape>& shapes) {
  return shapes.at(0).dims.at(0);
}

TEST(Profiles, ShapesAloneGiveOneFixedProfile) {
  const auto profiles = profiles_of({"--shapes=x:3x4"});
  ASSERT_TRUE(profiles.ok());
  ASSERT_EQ(profiles->size(), 1u);
  EXPECT_EQ(first_extent((*profiles)[0].min), 3);
  EXPECT_EQ(first_extent((*profiles)[0].max), 3);
}

TEST(Profiles, BoundsComeBeforeRunShapes) {
  const auto profiles =
      profiles_of({"--shapes=x:3", "--minShapes=x:1", "--optShapes=x:4", "--maxShapes=x:8"});
  ASSERT_TRUE(profiles.ok());
  EXPECT_EQ(first_extent((*profiles)[0].max), 8);
}

TEST(Profiles, MissingBoundsComeFromTheOthers) {
  const auto only_max = profiles_of({"--maxShapes=x:8"});
  ASSERT_TRUE(only_max.ok());
  EXPECT_EQ(first_extent((*only_max)[0].min), 8);
  const auto without_opt = profiles_of({"--minShapes=x:1", "--maxShapes=x:8"});
  ASSERT_TRUE(without_opt.ok());
  EXPECT_EQ(first_extent((*without_opt)[0].opt), 8);
  EXPECT_EQ(first_extent((*without_opt)[0].min), 1);
}

TEST(Profiles, AreNumberedInOrder) {
  const auto profiles =
      profiles_of({"--profile=0", "--minShapes=x:1", "--optShapes=x:2", "--maxShapes=x:3",
                   "--profile=1", "--optShapes=x:9", "--fp16"});
  ASSERT_TRUE(profiles.ok());
  ASSERT_EQ(profiles->size(), 2u);
  EXPECT_EQ(first_extent((*profiles)[1].opt), 9);
}

TEST(Profiles, RefuseGapsRepetitionsAndStrayBounds) {
  EXPECT_FALSE(profiles_of({"--profile=1", "--optShapes=x:2"}).ok());
  EXPECT_FALSE(profiles_of({"--profile=x"}).ok());
  EXPECT_FALSE(profiles_of({"--optShapes=x:2", "--optShapes=x:3"}).ok());
  EXPECT_FALSE(profiles_of({"--optShapes=x:2", "--profile=0"}).ok());
  EXPECT_FALSE(profiles_of({"--profile=0", "--fp16", "--optShapes=x:2"}).ok());
  EXPECT_FALSE(profiles_of({"--shapes=nonsense"}).ok());
}

TEST(Calibration, TakesOptAloneOrAllThree) {
  const auto check = [](std::vector<const char*> words) {
    return check_calibration_shapes(*parse_arguments(words), 1).ok();
  };
  EXPECT_TRUE(check({}));
  EXPECT_TRUE(check({"--optShapesCalib=x:1"}));
  EXPECT_FALSE(check({"--minShapesCalib=x:1"}));
  EXPECT_FALSE(check({"--calibProfile=1"}));
}

}  // namespace
}  // namespace tenon::tools
