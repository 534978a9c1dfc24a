// How the steps of a run go through memory.
#include "plan/walks.h"

#include <gtest/gtest.h>

#include "../runtime/graphs.h"

namespace tenon {
namespace {

/// "first", "second" behind it, the sum of both, and softmax of that, which is the output.
std::unique_ptr<Graph> residual_graph() {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim(1), Dim(8), Dim(4), Dim(4)}});
  Value* first = conv(*graph, x, numbers({8, 8, 1, 1}, 1, 0.02));
  Value* second = conv(*graph, first, numbers({8, 8, 1, 1}, 2, 0.02));
  Value* sum =
      graph->add_node(std::make_unique<Pointwise>(PointwiseFunction::k_add), {first, second})
          ->output();
  auto softmax = std::make_unique<Softmax>();
  softmax->axes = {1};
  Value* last = graph->add_node(std::move(softmax), {sum})->output();
  graph->add_output(last);
  return graph;
}

/// The walks of the graph's steps, all but the one numbered `stays` of kernels that follow them.
std::vector<Walk> walks_of(const Graph& graph, size_t stays) {
  const auto concrete = ConcreteGraph::create(graph, {});
  EXPECT_TRUE(concrete.ok());
  std::vector<WalkingStep> steps;
  for (const auto& node : graph.nodes())
    if (!node->is<Constant>()) steps.push_back({node.get(), steps.size() != stays});
  return plan_walks(*concrete, steps);
}

TEST(Walks, TurnFromStepToStep) {
  const std::vector<Walk> walks = walks_of(*residual_graph(), 4);
  ASSERT_EQ(walks.size(), 4u);
  EXPECT_FALSE(walks[0].backwards);
  EXPECT_TRUE(walks[1].backwards);
  EXPECT_FALSE(walks[2].backwards);
  EXPECT_TRUE(walks[3].backwards);
}

TEST(Walks, TurnBehindAKernelThatDoesNotFollow) {
  const std::vector<Walk> walks = walks_of(*residual_graph(), 1);
  EXPECT_FALSE(walks[1].backwards);
  EXPECT_TRUE(walks[2].backwards);
  EXPECT_FALSE(walks[3].backwards);
}

TEST(Walks, SayWhatIsReadForTheLastTime) {
  const std::vector<Walk> walks = walks_of(*residual_graph(), 4);
  EXPECT_EQ(walks[0].last_reads, 0u);  // The application's own.
  EXPECT_EQ(walks[1].last_reads, 0u);  // The sum reads it, too.
  EXPECT_EQ(walks[2].last_reads, 3u);
  EXPECT_EQ(walks[3].last_reads, 1u);
}

TEST(Walks, CopiesAreForwards) {
  const auto graph = residual_graph();
  const auto concrete = ConcreteGraph::create(*graph, {});
  ASSERT_TRUE(concrete.ok());
  const std::vector<Walk> walks = plan_walks(*concrete, std::vector<WalkingStep>(2));
  EXPECT_FALSE(walks[0].backwards || walks[1].backwards);
}

}  // namespace
}  // namespace tenon
