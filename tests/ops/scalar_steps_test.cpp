#include "ops/scalar_steps.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

/// Regions keep steps as text.
TEST(ScalarSteps, AreReadAsTheyAreWritten) {
  for (const char* text : {"tanh", "leaky_relu 0.25 0", "clip -5 5", "clip 0 6", "max x 3",
                           "sub 1 x", "hard_sigmoid 0.2 0.5"}) {
    const auto step = parse_scalar_step(text);
    ASSERT_TRUE(step.has_value()) << text;
    EXPECT_EQ(to_string(*step), text);
  }
  const auto one = parse_scalar_step("elu 1 0");
  ASSERT_TRUE(one.has_value());
  const auto again = parse_scalar_step(to_string(*one));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->alpha, 1);
}

TEST(ScalarSteps, AreNothingElse) {
  for (const char* text : {"", "nothing", "clip 1", "clip 1 b", "max x", "max x y", "max 3 3",
                           "add x x", "where x 1", "tanh x"})
    EXPECT_FALSE(parse_scalar_step(text).has_value()) << text;
}

TEST(ScalarSteps, OperandsStandWhereTheyAreWritten) {
  float row[] = {4, -2};
  apply_scalar_step(*parse_scalar_step("sub 1 x"), row, 2);
  EXPECT_EQ(row[0], -3);
  EXPECT_EQ(row[1], 3);
  apply_scalar_step(*parse_scalar_step("sub x 1"), row, 2);
  EXPECT_EQ(row[0], -4);
  EXPECT_EQ(row[1], 2);
}

}  // namespace
}  // namespace tenon
