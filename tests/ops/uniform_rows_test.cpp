#include "ops/uniform_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Of the last of some operators, whose results are %6 and on: %2 is a constant matrix, %3 a
/// constant row, %5 has normalized rows.
bool uniform(const std::vector<std::string>& operators) {
  std::string text =
      "graph \"\" (%0 \"x\": f32[2,6,2], %1 \"y\": f32[2,6,2]) {"
      "  %2 = constant() {value = f32[2,2]{1,2,3,4}} : f32[2,2]"
      "  %3 = constant() {value = f32[2]{1,2}} : f32[2]"
      "  %5 = normalization(%0, %3, %3) {norm = layer, axis = -1} : f32[2,6,2]";
  int last = 5;
  for (const std::string& each : operators)
    text += fmt::format("  %{} = {} : f32[2,6,2]", ++last, each);
  auto graph = parse_graph(text + fmt::format(" return %{}}}", last));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  const Status status = infer_graph(**graph);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return rows_are_uniform(*(*graph)->outputs()[0]);
}

TEST(UniformRows, AreNormalizedOnes) {
  EXPECT_TRUE(uniform({}));
}

TEST(UniformRows, AreProductsAndFunctionsOfThem) {
  EXPECT_TRUE(uniform({"matmul(%5, %2)", "add(%6, %3)", "relu(%7)"}));
  EXPECT_TRUE(
      uniform({"fused(%5, %2, %3) graph \"\" (%0: f32[2,6,2], %1: f32[2,2], %2: f32[2]) {"
               "  %3 = matmul(%0, %1) : f32[2,6,2] %4 = add(%3, %2) : f32[2,6,2] return %4 }"}));
}

TEST(UniformRows, AreThoseOfAttention) {
  EXPECT_TRUE(uniform({"matmul(%5, %2)", "attention(%6, %6, %6) {q_heads = 1, kv_heads = 1}"}));
}

TEST(UniformRows, AreNotInputs) {
  EXPECT_FALSE(uniform({"matmul(%0, %2)"}));
}

TEST(UniformRows, AreNotSumsWithAResidual) {
  EXPECT_FALSE(uniform({"add(%5, %1)"}));
  EXPECT_FALSE(
      uniform({"fused(%5, %2, %1) graph \"\" (%0: f32[2,6,2], %1: f32[2,2], %2: f32[2,6,2]) {"
               "  %3 = matmul(%0, %1) : f32[2,6,2] %4 = add(%3, %2) : f32[2,6,2] return %4 }"}));
}

TEST(UniformRows, AreNotProductsOfTwo) {
  EXPECT_FALSE(uniform({"matmul(%5, %2)", "mul(%5, %6)"}));
}

TEST(UniformRows, AreNotColumnsOfNormalizedRows) {
  EXPECT_FALSE(uniform({"transpose(%5) {permutation = [0,2,1]}"}));
}

TEST(UniformRows, AreNotNormalizedOverOtherAxes) {
  EXPECT_FALSE(uniform({"normalization(%0) {norm = layer, axis = 1}"}));
}

/// Of the node that a graph ends with: %5 has normalized rows, %1 and %2 have not.
bool left_alike(const std::string& node) {
  auto graph = parse_graph(
      "graph \"\" (%0 \"x\": f32[2,2], %1 \"y\": f32[2,2], %2 \"w\": f32[2,2]) {"
      "  %5 = normalization(%0) {norm = rms, axis = -1} : f32[2,2] %6 = " +
      node + " : f32[2,2] return %6}");
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  const Node& last = *(*graph)->nodes().back();
  const int left = left_operand(last);
  return left >= 0 && rows_are_uniform(*last.input(left));
}

TEST(UniformRows, OfTheLeftOperandOfANodesProduct) {
  EXPECT_TRUE(left_alike("matmul(%5, %1)"));
  EXPECT_FALSE(left_alike("matmul(%1, %5)"));
  EXPECT_FALSE(left_alike("relu(%5)"));
}

TEST(UniformRows, OfTheLeftOperandOfARegionsProduct) {
  const std::string body =
      " graph \"\" (%0: f32[2,2], %1: f32[2,2]) {"
      "  %2 = matmul(%0, %1) : f32[2,2] %3 = relu(%2) : f32[2,2] return %3 }";
  EXPECT_TRUE(left_alike("fused(%5, %1)" + body));
  EXPECT_FALSE(left_alike("fused(%1, %5)" + body));
  // What a region makes itself is not looked at.
  EXPECT_FALSE(
      left_alike("fused(%5, %1) graph \"\" (%0: f32[2,2], %1: f32[2,2]) {"
                 "  %2 = relu(%0) : f32[2,2] %3 = matmul(%2, %1) : f32[2,2] return %3 }"));
}

}  // namespace
}  // namespace tenon
