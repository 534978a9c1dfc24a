#include "quantizer/precision_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// y = function(x, number), x of [8,16], named after `name`.
Value* with_number(Graph& graph, Value* x, PointwiseFunction function, float number,
                   const char* name) {
  Value* constant = graph.add_constant(Tensor::scalar_f32(number));
  Node* node = graph.add_node(std::make_unique<Pointwise>(function), {x, constant}, 1, name);
  node->output()->name = std::string(name) + "_out";
  return node->output();
}

std::vector<KeptNode> kept(Graph& graph, DataType type, double budget) {
  EXPECT_TRUE(infer_graph(graph).ok());
  NullLogger quiet;
  auto nodes = nodes_to_keep(graph, {}, type, budget, quiet);
  EXPECT_TRUE(nodes.ok()) << (nodes.ok() ? "" : nodes.error().message);
  return nodes.ok() ? std::move(nodes).value() : std::vector<KeptNode>();
}

bool names(const std::vector<KeptNode>& nodes, const char* name, const char* reason) {
  return std::ranges::any_of(nodes, [&](const KeptNode& node) {
    return node.name == name && node.reason.find(reason) != std::string::npos;
  });
}

TEST(PrecisionBudget, NumbersBeyondTheRangeStay) {
  Graph graph;
  Value* x = graph.add_input("x", {DataType::kFloat32, {Dim(8), Dim(16)}});
  Value* small = with_number(graph, x, PointwiseFunction::k_mul, 0.5F, "before");
  Value* large = with_number(graph, small, PointwiseFunction::k_mul, 1e6F, "grows");
  Value* again = with_number(graph, large, PointwiseFunction::k_mul, 1e-6F, "shrinks");
  graph.add_output(with_number(graph, again, PointwiseFunction::k_add, 1, "behind"));
  const auto half = kept(graph, DataType::kFloat16, 1);
  EXPECT_EQ(half.size(), 2);
  EXPECT_TRUE(names(half, "grows", "'grows_out' reaches"));
  EXPECT_TRUE(names(half, "shrinks", "f16 ends at 65504"));
  EXPECT_TRUE(kept(graph, DataType::kBFloat16, 1).empty());
}

/// The sum with 1000 loses all but one digit, and so do its readers; the other layers are as
/// good as exact.
TEST(PrecisionBudget, TheMostSensitiveStay) {
  Graph graph;
  Value* x = graph.add_input("x", {DataType::kFloat32, {Dim(8), Dim(16)}});
  Value* first = with_number(graph, x, PointwiseFunction::k_mul, 0.5F, "first");
  Value* sum = with_number(graph, first, PointwiseFunction::k_add, 1000, "sum");
  Value* back = with_number(graph, sum, PointwiseFunction::k_sub, 1000, "back");
  graph.add_output(with_number(graph, back, PointwiseFunction::k_mul, 2, "last"));
  const auto nodes = kept(graph, DataType::kBFloat16, 0.03);
  EXPECT_EQ(nodes.size(), 2);
  EXPECT_TRUE(names(nodes, "sum", "alone moves the outputs by"));
  EXPECT_TRUE(names(nodes, "back", "alone moves the outputs by"));
  EXPECT_TRUE(kept(graph, DataType::kBFloat16, 10).empty());
}

}  // namespace
}  // namespace tenon
