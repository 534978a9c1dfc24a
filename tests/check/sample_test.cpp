// What the reference costs: a network whose cost is not known is not checked.
#include "check/sample.h"

#include <gtest/gtest.h>

#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// The einsum of an input [n, 6, 10] and a constant [20, 10].
std::unique_ptr<Graph> einsum_of(const std::string& equation) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim::symbol("n"), 6, 10}});
  Value* w = graph->add_constant(Tensor(DataType::kFloat32, {20, 10}));
  auto op = std::make_unique<Einsum>();
  op->equation = equation;
  graph->add_output(graph->add_node(std::move(op), {x, w}, 1, "e")->output());
  EXPECT_TRUE(infer_graph(*graph).ok());
  return graph;
}

TEST(ReferenceCost, OfAnEinsumIsKnown) {
  const Profile profile = {{"x", {{1, 6, 10}, {3, 6, 10}, {5, 6, 10}}}};
  const int64_t factors = 2 * 2;
  EXPECT_EQ(reference_cost(*einsum_of("nij,kj->nik"), profile), 3 * 6 * 20 * 10 * factors);
  EXPECT_EQ(reference_cost(*einsum_of("nij,kj->"), profile), 3 * 6 * 10 * 20 * factors);
  EXPECT_EQ(reference_cost(*einsum_of("...j,kj->...jk"), profile), 3 * 6 * 10 * 20 * factors);
}

}  // namespace
}  // namespace tenon
