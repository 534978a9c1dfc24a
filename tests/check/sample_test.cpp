// Costs of the reference (a network whose cost is not known is not checked), and its inputs.
#include "check/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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

TEST(SampleInputs, AreTheSameNumbersInEveryType) {
  using enum DataType;
  for (const DataType type : {kFloat32, kFloat16, kBFloat16, kFloat64, kInt8, kInt32, kInt64,
                              kUInt8, kBool, kFloat8E4M3, kInt4, kInt2, kUInt2}) {
    Graph graph;
    graph.add_input("x", {type, {3, 50}});
    const Profile profile = {{"x", {{3, 50}, {3, 50}, {3, 50}}}};
    const auto inputs = sample_inputs(graph, profile);
    ASSERT_TRUE(inputs.ok());
    std::mt19937_64 random(1);
    Tensor expected(type, {3, 50});
    for (int64_t i = 0; i < expected.count(); ++i) {
      const double number = static_cast<double>(random() >> 11) * 0x1p-53;
      expected.set_from_double(i, is_real(type) ? 2 * number - 1 : std::floor(2 * number));
    }
    EXPECT_EQ(inputs->front(), expected) << name_of(type);
  }
}

}  // namespace
}  // namespace tenon
