// Which nodes need no kernel.
#include "select/views.h"

#include <gtest/gtest.h>

#include "made_up_device.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

Value* rectified(Graph& graph, Value* x) {
  return graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_relu), {x})->output();
}

/// Whether the concat's inputs are computed where they lie in its result.
bool is_view(Graph& graph, std::vector<Value*> inputs) {
  auto concat = std::make_unique<Concat>();
  concat->axis = 0;
  Node* const node = graph.add_node(std::move(concat), std::move(inputs));
  graph.add_output(rectified(graph, node->output()));
  EXPECT_TRUE(infer_graph(graph).ok());
  const Backend no_kernels{.device = std::make_shared<MadeUpDevice>(), .tactics = {}};
  EXPECT_TRUE(choose_views(graph, no_kernels, {}, 1).ok());
  return node->tactic == kViewTactic;
}

TEST(Views, AConcatHasItsInputsComputedInPlace) {
  Graph graph;
  Value* const x = graph.add_input("x", {DataType::kFloat32, {2, 3}});
  EXPECT_TRUE(is_view(graph, {rectified(graph, x), rectified(graph, x)}));
}

TEST(Views, AConcatCopiesInputsThatLieElsewhere) {
  Graph of_input, twice, of_output;
  Value* const x = of_input.add_input("x", {DataType::kFloat32, {2, 3}});
  EXPECT_FALSE(is_view(of_input, {rectified(of_input, x), x}));
  Value* const once = rectified(twice, twice.add_input("x", x->type));
  EXPECT_FALSE(is_view(twice, {once, once}));
  Value* const result = rectified(of_output, of_output.add_input("x", x->type));
  of_output.add_output(result);
  EXPECT_FALSE(is_view(of_output, {result, rectified(of_output, result)}));
}

TEST(Views, AConcatInsideAnotherHasItsInputsInPlaceToo) {
  Graph graph;
  Value* const x = graph.add_input("x", {DataType::kFloat32, {2, 3}});
  auto concat = std::make_unique<Concat>();
  Node* const inner = graph.add_node(std::move(concat), {rectified(graph, x), rectified(graph, x)});
  Value* const behind = rectified(graph, inner->output());
  EXPECT_TRUE(is_view(graph, {inner->output(), behind}));
  EXPECT_EQ(inner->tactic, kViewTactic);
}

}  // namespace
}  // namespace tenon
