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

}  // namespace
}  // namespace tenon
