#include "select/expected_time.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/algorithm.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"

namespace tenon {
namespace {

/// Of the last node of a graph.
double multiplications_of(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return 0;
  EXPECT_TRUE(infer_graph(**graph).ok());
  const auto concrete = ConcreteGraph::create(**graph, {});
  EXPECT_TRUE(concrete.ok());
  return multiplications(concrete->problem(*(*graph)->nodes().back(), cpu_backend(1), 1));
}

/// Of a product of 2 x 3 and 3 x 2 elements that a constant scales.
double with_scale(const std::string& type, const std::string& values) {
  return multiplications_of(
      "graph \"\" (%0: f32[2,3], %1: f32[3,2]) {\n  %2 = constant() {value = " + type + values +
      "} : " + type +
      "\n"
      "  %3 = fused \"p\"(%0, %1, %2) graph \"\" (%0: f32[2,3], %1: f32[3,2], "
      "%2: " +
      type +
      ") {\n"
      "    %3 = matmul \"m\"(%0, %1) : f32[2,2]\n"
      "    %4 = mul \"s\"(%3, %2) : f32[2,2]\n"
      "    return %4\n"
      "  } : f32[2,2]\n"
      "  return %3\n}");
}

TEST(Multiplications, ScalesOfAProductAreNotItsWeights) {
  EXPECT_EQ(with_scale("f32[]", "{2}"), 12);
  EXPECT_EQ(with_scale("f32[2]", "{2,3}"), 12);
}

TEST(Multiplications, WeightsTellTheDepth) {
  EXPECT_EQ(multiplications_of("graph \"\" (%0: f32[2,3]) {\n"
                               "  %1 = constant() {value = f32[3,2]{1,2,3,4,5,6}} : f32[3,2]\n"
                               "  %2 = matmul(%0, %1) : f32[2,2]\n  return %2\n}"),
            12);
  EXPECT_EQ(multiplications_of("graph \"\" (%0: f32[1,1,2,5]) {\n"
                               "  %1 = constant() {value = f32[1,1,1,1]{3}} : f32[1,1,1,1]\n"
                               "  %2 = conv(%0, %1) : f32[1,1,2,5]\n  return %2\n}"),
            10);
}

}  // namespace
}  // namespace tenon
