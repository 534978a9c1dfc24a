// Names of the model's nodes go to the layer that computes them behind a pass, or are told as gone.
#include "passes/origin_keeper.h"

#include <gtest/gtest.h>

#include "case_file.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/observed_passes.h"

namespace tenon {
namespace {

struct Outcome {
  std::unique_ptr<Graph> graph;
  std::vector<GoneNode> gone;
  /// The operators of the layers that have the origin, in their order.
  std::string layers_of(const std::string& origin) const {
    std::string operators;
    for (const auto& node : graph->nodes())
      if (std::ranges::find(node->origins, origin) != node->origins.end())
        operators += fmt::format("{}{}", operators.empty() ? "" : " ", node->op->name());
    return operators;
  }
};

/// All passes over a graph in which each node is a model's node of its own name.
Outcome optimized(const std::string& text) {
  PassCase item;
  item.given = text;
  auto graph = graph_of_case(item);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  for (const auto& node : (*graph)->nodes())
    if (!node->name.empty()) node->origins = {node->name};
  for (const auto& node : (*graph)->nodes())
    for (const auto& body : node->bodies)
      for (const auto& inner : body->nodes())
        if (!inner->name.empty()) inner->origins = {inner->name};
  NullLogger logger;
  auto run = run_observed_passes(**graph, {}, logger, nullptr);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return {std::move(graph).value(), std::move(run->gone)};
}

TEST(OriginKeeper, AttentionHasAllNodesThatItWasMadeOf) {
  const Outcome outcome = optimized(R"((%0: f32[1,2,8,4], %1: f32[1,2,4,8], %2: f32[1,2,8,4]) {
  %3 = matmul "scores"(%0, %1)
  %4 = softmax "weights"(%3) {axes = [3]}
  %5 = matmul "mixed"(%4, %2)
  return %5
})");
  for (const char* name : {"scores", "weights"})
    EXPECT_EQ(outcome.layers_of(name), "attention") << print(*outcome.graph);
  EXPECT_EQ(outcome.layers_of("mixed"), "transpose attention transpose");
  EXPECT_TRUE(outcome.gone.empty());
}

TEST(OriginKeeper, ConstantsAreToldWithTheirPass) {
  const Outcome outcome = optimized(R"((%0: f32[3]) {
  %1 = constant "given"() {value = f32[3]{1,2,3}}
  %2 = tanh "folded"(%1)
  %3 = mul "product"(%0, %2)
  return %3
})");
  EXPECT_EQ(outcome.gone,
            (std::vector<GoneNode>{{"folded", "fold_constants", true}, {"given", "", true}}));
  EXPECT_EQ(outcome.layers_of("product"), "mul");
}

TEST(OriginKeeper, NodesThatNothingNeedsAreTold) {
  const Outcome outcome = optimized(R"((%0: f32[2,3]) {
  %1 = tanh "dead"(%0)
  %2 = relu "wanted"(%0)
  %3 = tanh "measured"(%0)
  %4 = shape "shape"(%3)
  %5 = reshape "flat"(%2, %4)
  %6 = exp "end"(%5)
  return %6
})");
  EXPECT_EQ(outcome.gone, (std::vector<GoneNode>{{"dead", "", false},
                                                 {"measured", "fold_constants", false},
                                                 {"shape", "fold_constants", true}}))
      << print(*outcome.graph);
  EXPECT_EQ(outcome.layers_of("flat"), "fused");
}

TEST(OriginKeeper, TheBranchThatIsNotTakenIsGone) {
  const Outcome outcome = optimized(R"((%0: f32[8]) {
  %1 = constant "yes"() {value = bool[]{1}}
  %2 = if "if"(%1, %0) graph "then" (%0: f32[8]) {
      %1 = tanh "taken"(%0) : f32[8]
      return %1
    } graph "else" (%0: f32[8]) {
      %1 = relu "left"(%0) : f32[8]
      return %1
    } : f32[8]
  return %2
})");
  EXPECT_EQ(outcome.layers_of("taken"), "tanh");
  EXPECT_EQ(outcome.layers_of("left"), "");
  EXPECT_TRUE(std::ranges::count(outcome.gone, GoneNode{"left", "inline_branches", false}) == 1);
}

TEST(OriginKeeper, AResultThatIsLeftOutGoesToTheLayerAhead) {
  const Outcome outcome = optimized(R"((%0: f32[8]) {
  %1 = tanh "tanh"(%0)
  %2 = identity "last"(%1)
  return %2
})");
  EXPECT_EQ(outcome.layers_of("last"), "tanh") << print(*outcome.graph);
}

}  // namespace
}  // namespace tenon
