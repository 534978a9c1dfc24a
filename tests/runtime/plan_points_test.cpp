// The shapes of a range that a build chooses kernels for.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/graph.h"
#include "plan/points.h"

namespace tenon {
namespace {

std::vector<int64_t> values_of(const char* symbol, const Graph& graph, const Profile& profile) {
  std::vector<int64_t> values;
  for (const SymbolValues& point : profile_points(graph, profile))
    values.push_back(point.find(symbol)->second);
  std::ranges::sort(values);
  return values;
}

TEST(PlanPoints, OfABatchArePowersOfTwo) {
  Graph graph;
  graph.symbol_ranges.emplace("n", Range{1, 512});
  Value* x = graph.add_input("x", {DataType::kFloat32, {Dim::symbol("n"), Dim(3)}});
  graph.add_output(x);
  const std::vector<int64_t> powers = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  EXPECT_EQ(values_of("n", graph, {{"x", {{1, 3}, {8, 3}, {512, 3}}}}), powers);
}

TEST(PlanPoints, OfALengthAreMiddlesAsWell) {
  Graph graph;
  graph.symbol_ranges.emplace("s", Range{1, 512});
  Value* x = graph.add_input("x", {DataType::kFloat32, {Dim(1), Dim::symbol("s")}});
  graph.add_output(x);
  const std::vector<int64_t> lengths = {1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512};
  EXPECT_EQ(values_of("s", graph, {{"x", {{1, 1}, {1, 128}, {1, 512}}}}), lengths);
}

/// Kernels' code may be for few lengths alone: parts of a sequence, say.
TEST(PlanPoints, LengthsUpToSomeHundredsAllShowTheirCode) {
  Plan plan;
  plan.graph = std::make_unique<Graph>();
  plan.graph->symbol_ranges.emplace("s", Range{1, 512});
  Value* x = plan.graph->add_input("x", {DataType::kFloat32, {Dim(1), Dim::symbol("s")}});
  plan.graph->add_output(x);
  plan.profiles = {{{"x", {{1, 1}, {1, 128}, {1, 512}}}}};
  EXPECT_EQ(plan_shapes(plan).size(), 512u);
}

TEST(PlanPoints, TrialsAreAllBatchesOrTheQuartersOfEachDoubling) {
  Plan plan;
  plan.graph = std::make_unique<Graph>();
  plan.graph->symbol_ranges.emplace("n", Range{1, 128});
  Value* x = plan.graph->add_input("x", {DataType::kFloat32, {Dim::symbol("n"), Dim(3)}});
  plan.graph->add_output(x);
  plan.profiles = {{{"x", {{1, 3}, {8, 3}, {33, 3}}}}};
  EXPECT_EQ(plan_trials(plan).size(), 33u);
  plan.profiles = {{{"x", {{1, 3}, {8, 3}, {128, 3}}}}};
  const std::vector<SymbolValues> trials = plan_trials(plan);
  EXPECT_EQ(trials.size(), 3u + 5 + 4 * 3) << "below 8 some are equal";
  for (const int64_t value : {1, 8, 128, 3, 5, 6, 7, 10, 12, 14, 20, 24, 28, 80, 96, 112})
    EXPECT_NE(std::ranges::find(trials, SymbolValues{{"n", value}}), trials.end()) << value;
}

}  // namespace
}  // namespace tenon
