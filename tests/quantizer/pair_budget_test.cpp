#include "quantizer/pair_budget.h"

#include <gtest/gtest.h>

#include "ops/math.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Quantize and Dequantize with one scale.
Value* pair(Graph& graph, Value* x, float scale, DataType type) {
  Value* step = graph.add_constant(Tensor::scalar_f32(scale));
  auto quantize = std::make_unique<Quantize>();
  quantize->to = type;
  Node* bytes = graph.add_node(std::move(quantize), {x, step}, 1);
  return graph.add_node(std::make_unique<Dequantize>(), {bytes->output(), step}, 1)->output();
}

Value* doubled(Graph& graph, Value* x, const char* name) {
  Value* two = graph.add_constant(Tensor::scalar_f32(2));
  return graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_mul), {x, two}, 1, name)
      ->output();
}

class PairBudget : public testing::TestWithParam<DataType> {
 protected:
  /// A fine step, and one that leaves hardly a number.
  void SetUp() override {
    Value* x = graph_.add_input("x", {DataType::kFloat32, {Dim(8), Dim(16)}});
    fine_ = doubled(graph_, pair(graph_, x, 0.01F, GetParam()), "fine");
    graph_.add_output(doubled(graph_, pair(graph_, fine_, coarse(), GetParam()), "coarse"));
    ASSERT_TRUE(infer_graph(graph_).ok());
  }
  /// Numbers of 8-bit floats have the same digits at any scale, but for numbers that are too small.
  static float coarse() { return GetParam() == DataType::kInt8 ? 1.0F : 300.0F; }

  std::vector<KeptNode> kept(double budget) {
    NullLogger quiet;
    auto nodes = readers_to_keep(graph_, {}, budget, quiet);
    EXPECT_TRUE(nodes.ok()) << (nodes.ok() ? "" : nodes.error().message);
    return nodes.ok() ? std::move(nodes).value() : std::vector<KeptNode>();
  }

  Graph graph_;
  Value* fine_ = nullptr;
};

TEST_P(PairBudget, TheMostSensitiveReadNumbersAsTheyAre) {
  const auto nodes = kept(0.1);
  ASSERT_EQ(nodes.size(), 1);
  EXPECT_EQ(nodes[0].name, "coarse");
  EXPECT_TRUE(nodes[0].is_unquantized);
  EXPECT_NE(nodes[0].reason.find("alone moves the outputs by"), std::string::npos);
  EXPECT_EQ(kept(0).size(), 2);
  EXPECT_TRUE(kept(10).empty());
}

TEST_P(PairBudget, PairsAreLeftOutForTheirReadersAlone) {
  leave_pairs_out(graph_, kept(0.1));
  EXPECT_EQ(graph_.outputs()[0]->producer()->input(0), fine_);
  EXPECT_TRUE(fine_->producer()->input(0)->producer()->is<Dequantize>());
}

INSTANTIATE_TEST_SUITE_P(Types, PairBudget,
                         testing::Values(DataType::kInt8, DataType::kFloat8E4M3));

}  // namespace
}  // namespace tenon
