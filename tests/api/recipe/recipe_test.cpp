// The options of a build come back from the settings of its plan, whatever order they stand in.
#include "api/recipe.h"

#include <gtest/gtest.h>

namespace tenon::api {
namespace {

/// Every second flag is the other way round.
PassOptions unusual() {
  PassOptions passes;
  passes.level = 4;
  passes.disabled = {"fuse_epilogue:conv*", "merge_equal"};
  passes.no_fuse = {"head/*"};
  passes.precision = DataType::kBFloat16;
  passes.types = {{"a layer", DataType::kFloat16}};
  passes.half_as = DataType::kFloat32;
  for (size_t i = 0; i < std::size(kPassFlags); i += 2)
    passes.*kPassFlags[i].member = !(passes.*kPassFlags[i].member);
  return passes;
}

Plan plan_of(const PassOptions& passes) {
  Plan plan;
  plan.settings = recipe_of(passes);
  return plan;
}

void expect_same(const PassOptions& actual, const PassOptions& expected) {
  EXPECT_EQ(actual.level, expected.level);
  EXPECT_EQ(actual.disabled, expected.disabled);
  EXPECT_EQ(actual.no_fuse, expected.no_fuse);
  EXPECT_EQ(actual.precision, expected.precision);
  EXPECT_EQ(actual.types, expected.types);
  EXPECT_EQ(actual.half_as, expected.half_as);
  for (const PassFlag& flag : kPassFlags)
    EXPECT_EQ(actual.*flag.member, expected.*flag.member) << flag.name;
}

TEST(Recipe, ComesBack) {
  for (const PassOptions& passes : {PassOptions(), unusual()}) {
    const auto read = passes_of(plan_of(passes));
    ASSERT_TRUE(read.ok()) << read.error().message;
    expect_same(*read, passes);
  }
}

TEST(Recipe, FlagsAreReadByTheirNames) {
  Plan plan = plan_of(unusual());
  std::vector<std::string> lines = lines_of(plan.settings["refit.flags"]);
  std::string reversed;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) reversed += *line + "\n";
  plan.settings["refit.flags"] = reversed;
  const auto read = passes_of(plan);
  ASSERT_TRUE(read.ok()) << read.error().message;
  expect_same(*read, unusual());
}

TEST(Recipe, AFlagThatAPlanDoesNotHaveIsOff) {
  Plan plan = plan_of(PassOptions());
  plan.settings["refit.flags"] = "channels_last=1";
  const auto read = passes_of(plan);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->channels_last);
  EXPECT_FALSE(read->quantized_weights);
}

TEST(Recipe, WhatIsNotKnownIsRefused) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"refit.flags", "1101001111111"},  // As plans had them once: a digit a flag.
           {"refit.flags", "no_such_flag=1"},
           {"refit.flags", "channels_last=2"},
           {"refit.level", ""},
           {"refit.level", "x"},
           {"refit.precision", "f17"},
           {"refit.half_as", "f17"},
           {"refit.types", "f17 layer"}}) {
    Plan plan = plan_of(PassOptions());
    plan.settings[name] = text;
    const auto read = passes_of(plan);
    ASSERT_FALSE(read.ok()) << name << " = " << text;
    EXPECT_NE(read.error().message.find("build it again"), std::string::npos);
  }
}

}  // namespace
}  // namespace tenon::api
