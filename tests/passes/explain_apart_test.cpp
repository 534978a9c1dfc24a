#include "passes/explain_apart.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Neighbours that stay apart when all passes have run, as "producer | consumer | pass: reason".
std::vector<std::string> apart_in(std::string_view text, PassOptions options = {}) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return {};
  NullLogger quiet;
  EXPECT_TRUE(run_passes(**graph, options, quiet).ok());
  std::vector<std::string> lines;
  for (const ApartLayers& apart : explain_apart(**graph, options, quiet))
    lines.push_back(
        fmt::format("{} | {} | {}: {}", apart.producer, apart.consumer, apart.pass, apart.reason));
  return lines;
}

constexpr const char* kChain = R"(graph "" (%0: f32[2,4], %1: f32[4,4]) {
  %2 = matmul "product"(%0, %1) : f32[2,4]
  %3 = relu "relu"(%2) : f32[2,4]
  return %3
})";

TEST(ExplainApart, NothingIsSaidOfWhatIsFused) {
  EXPECT_TRUE(apart_in(kChain).empty());
}

TEST(ExplainApart, NothingIsSaidOfConstants) {
  EXPECT_TRUE(apart_in(R"(graph "" (%0: f32[2,2]) {
  %1 = constant() {value = f32[2,2]{1,2,3,4}} : f32[2,2]
  %2 = add "sum"(%0, %1) : f32[2,2]
  return %2
})")
                  .empty());
}

TEST(ExplainApart, SettingsAreNamed) {
  PassOptions off;
  off.disabled = {"fuse_epilogue"};
  EXPECT_EQ(apart_in(kChain, off),
            std::vector<std::string>{"product | relu | fuse_epilogue: "
                                     "--disablePass=fuse_epilogue switches the pass off"});
  PassOptions kept;
  kept.no_fuse = {"relu"};
  const auto lines = apart_in(kChain, kept);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_NE(lines[0].find("--noFuse"), std::string::npos);
}

TEST(ExplainApart, AnOutputOfTheNetworkIsWritten) {
  const auto lines = apart_in(R"(graph "" (%0: f32[2,4], %1: f32[4,4]) {
  %2 = matmul "product"(%0, %1) : f32[2,4]
  %3 = relu "relu"(%2) : f32[2,4]
  return %2, %3
})");
  ASSERT_EQ(lines.size(), 1);
  EXPECT_NE(lines[0].find("is an output of the network"), std::string::npos) << lines[0];
}

TEST(ExplainApart, OtherReadersAreNamed) {
  const auto lines = apart_in(R"(graph "" (%0: f32[2,4], %1: f32[4,4]) {
  %2 = matmul "product"(%0, %1) : f32[2,4]
  %3 = relu "relu"(%2) : f32[2,4]
  %4 = matmul "second"(%2, %1) : f32[2,4]
  return %3, %4
})");
  ASSERT_EQ(lines.size(), 1);
  EXPECT_NE(lines[0].find("'second'"), std::string::npos) << lines[0];
}

TEST(ExplainApart, ManyReadersAreCounted) {
  const auto lines = apart_in(R"(graph "" (%0: f32[2,4], %1: f32[4,4]) {
  %2 = matmul "product"(%0, %1) : f32[2,4]
  %3 = relu "relu"(%2) : f32[2,4]
  %4 = concat "a"(%2, %0) {axis = 0} : f32[4,4]
  %5 = concat "b"(%2, %0) {axis = 1} : f32[2,8]
  %6 = reduce "c"(%2) {axes = [0]} : f32[1,4]
  %7 = reduce "d"(%2) {axes = [1]} : f32[2,1]
  %8 = softmax "e"(%2) {axes = [0]} : f32[2,4]
  return %3, %4, %5, %6, %7, %8
})");
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find(" and 2 more too"), std::string::npos) << lines[0];
}

TEST(ExplainApart, OperatorsWithoutEpilogueAreNamed) {
  const auto lines = apart_in(R"(graph "" (%0: f32[2,4], %1: f32[2,4]) {
  %2 = concat "join"(%0, %1) {axis = 1} : f32[2,8]
  %3 = relu "relu"(%2) : f32[2,8]
  return %3
})");
  ASSERT_EQ(lines.size(), 1);
  EXPECT_NE(lines[0].find("'join' (concat) stands before it"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace tenon
