// Which layers run side by side.
#include "plan/branches.h"

#include <gtest/gtest.h>

#include "graph_text.h"

namespace tenon {
namespace {

constexpr char kNetwork[] = R"(graph "" (%0 "x": f32[4,4]) {
  %1 = softmax "first"(%0) {axes = [1]} : f32[4,4]
  %2 = softmax "left"(%1) {axes = [1]} : f32[4,4]
  %3 = softmax "right1"(%1) {axes = [0]} : f32[4,4]
  %4 = softmax "right2"(%3) {axes = [1]} : f32[4,4]
  %5 = matmul "end"(%2, %4) : f32[4,4]
  return %5
})";

Branches found(std::map<int, double> milliseconds, int streams) {
  const auto graph = inferred(kNetwork);
  const auto concrete = ConcreteGraph::create(*graph, {});
  EXPECT_TRUE(concrete.ok());
  return find_branches(*concrete, milliseconds, streams);
}

TEST(Branches, LongLayersThatNeedNotEachOtherGoSideBySide) {
  const Branches branches = found({{0, 1}, {1, 2}, {2, 1}, {3, 0.5}, {4, 1}}, 4);
  const Branches expected = {{1, {1, 0}}, {2, {1, 1}}, {3, {1, 1}}};
  EXPECT_EQ(branches, expected);
  EXPECT_EQ(aux_streams(branches), 1);
}

TEST(Branches, ShortLayersAreNotWorthAFork) {
  EXPECT_TRUE(found({{0, 1}, {1, 0.002}, {2, 0.001}, {3, 0.001}, {4, 1}}, 4).empty());
}

TEST(Branches, OneStreamHasNone) {
  EXPECT_TRUE(found({{0, 1}, {1, 2}, {2, 1}, {3, 0.5}, {4, 1}}, 1).empty());
}

TEST(Branches, SurviveTheirText) {
  const Branches branches = {{1, {1, 0}}, {12, {2, 3}}};
  EXPECT_EQ(to_text(branches), "1=1:0 12=2:3");
  EXPECT_EQ(parse_branches(to_text(branches)), branches);
  for (const char* damaged : {"1", "1=", "1=1:", "1=1:-1", "x=1:1", "1=1:1000", "1=1:1,2=1:1"})
    EXPECT_TRUE(parse_branches(damaged).empty()) << damaged;
  // 64 streams at most, which count from 0.
  EXPECT_FALSE(parse_branches("1=1:63").empty());
  EXPECT_TRUE(parse_branches("1=1:64").empty());
}

}  // namespace
}  // namespace tenon
