// Extents that inference takes as equal are asked for again under the values of a run.
#include "ops/extent_rules.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/table.h"

namespace tenon {
namespace {

std::unique_ptr<Graph> graph_of(const std::string& text, SymbolRanges ranges) {
  auto graph = parse_graph("graph \"\" " + text);
  if (!graph.ok()) return nullptr;
  (*graph)->symbol_ranges = std::move(ranges);
  return infer_graph(**graph).ok() ? std::move(graph).value() : nullptr;
}

/// The error under these values, or nothing.
std::string broken(const std::string& text, const SymbolValues& values, SymbolRanges ranges = {}) {
  const auto graph = graph_of(text, std::move(ranges));
  if (graph == nullptr) return "no graph";
  const auto rules = ExtentRules::of(*graph);
  if (!rules.ok()) return rules.error().message;
  const Status status = rules->check(values);
  return status.ok() ? "" : status.error().message;
}

constexpr char kSum[] = R"((%0: f32[n,4], %1: f32[m,4]) {
  %2 = relu "ahead"(%0) : f32[n,4]
  %3 = add "sum"(%2, %1) : f32[n,4]
  return %3
})";

TEST(ExtentRules, OperandsThatAreJoinedFitTogether) {
  EXPECT_EQ(broken(kSum, {{"n", 3}, {"m", 3}}), "");
  EXPECT_EQ(broken(kSum, {{"n", 3}, {"m", 1}}), "");
  const std::string differ = broken(kSum, {{"n", 3}, {"m", 2}});
  EXPECT_NE(differ.find("layer 'sum'"), std::string::npos) << differ;
  EXPECT_NE(differ.find("n = 3 and m = 2"), std::string::npos) << differ;
  // The result has the rows of the first operand.
  EXPECT_NE(broken(kSum, {{"n", 1}, {"m", 3}}), "");
  EXPECT_EQ(broken(kSum, {{"m", 3}}), "");
  EXPECT_EQ(broken(kSum, {{"n", 3}}), "") << "what is not known yet is asked for later";
}

TEST(ExtentRules, FactorsOfNormalizedRowsHaveTheirLength) {
  const std::string text = R"((%0: f32[2,n], %1: f32[3]) {
  %2 = normalization "rows"(%0, %1) : f32[2,n]
  return %2
})";
  EXPECT_EQ(broken(text, {{"n", 3}}), "");
  const std::string differ = broken(text, {{"n", 4}});
  EXPECT_NE(differ.find("layer 'rows'"), std::string::npos) << differ;
}

TEST(ExtentRules, RangesTellWhichExtentIsBroadcast) {
  const SymbolRanges larger = {{"n", {1, 6}}, {"m", {2, 6}}};
  EXPECT_EQ(broken(kSum, {{"n", 1}, {"m", 3}}, larger), "");
  const auto graph = graph_of(kSum, larger);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(to_string(graph->outputs()[0]->type.shape), "[m,4]");
}

TEST(ExtentRules, ExpandedExtentsAreRightForAllValues) {
  const auto graph = graph_of(R"((%0: f32[n,4]) {
  %1 = dims "shape"() {expressions = ["m","4"], extents = [2]} : i64[2]=(m,4)
  %2 = expand "wide"(%0, %1) : f32[n,4]
  return %2
})",
                              {});
  ASSERT_NE(graph, nullptr);
  const Dim& rows = graph->outputs()[0]->type.shape[0];
  const auto rows_of = [&](int64_t n, int64_t m) { return rows.evaluate({{"n", n}, {"m", m}}); };
  EXPECT_EQ(rows_of(1, 3), 3);
  EXPECT_EQ(rows_of(3, 1), 3);
  EXPECT_EQ(rows_of(3, 3), 3);
  EXPECT_EQ(rows_of(0, 1), 0);
  EXPECT_EQ(rows_of(1, 0), 0);
  EXPECT_EQ(rows_of(1, 1), 1);
}

TEST(ExtentRules, InnerExtentsOfProductsAndSidesOfConcatsAreEqual) {
  constexpr char kProduct[] = R"((%0: f32[4,n], %1: f32[m,4]) {
  %2 = matmul "product"(%0, %1) : f32[4,4]
  return %2
})";
  EXPECT_EQ(broken(kProduct, {{"n", 2}, {"m", 2}}), "");
  EXPECT_NE(broken(kProduct, {{"n", 1}, {"m", 2}}), "");
  constexpr char kConcat[] = R"((%0: f32[n,4], %1: f32[m,4]) {
  %2 = concat "beside"(%0, %1) {axis = 1} : f32[n,8]
  return %2
})";
  EXPECT_EQ(broken(kConcat, {{"n", 2}, {"m", 2}}), "");
  EXPECT_NE(broken(kConcat, {{"n", 2}, {"m", 1}}), "");
}

TEST(ExtentRules, BodiesOfLoopsHaveThem) {
  constexpr char kLoop[] = R"((%0: i64[], %1: f32[n,4], %2: f32[m,4]) {
  %3 = loop "loop"(%0, _, %1, %2) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[n,4], %3: f32[m,4]) {
      %4 = concat "beside"(%2, %3) {axis = 1} : f32[n,8]
      %5 = reduce "sum"(%4) {axes = [1]} : f32[n,1]
      %6 = add "next"(%2, %5) : f32[n,4]
      return %1, %6
    } : f32[n,4]
  return %3
})";
  EXPECT_EQ(broken(kLoop, {{"n", 3}, {"m", 3}}), "");
  EXPECT_NE(broken(kLoop, {{"n", 3}, {"m", 5}}).find("layer 'beside'"), std::string::npos);
}

/// The branch that is not taken may not fit.
TEST(ExtentRules, BranchesHaveNone) {
  EXPECT_EQ(broken(R"((%0: bool[], %1: f32[n,4], %2: f32[m,4]) {
  %3 = if "either"(%0, %1, %2) graph "then" (%0: f32[n,4], %1: f32[m,4]) {
      %2 = add "sum"(%0, %1) : f32[n,4]
      return %2
    } graph "else" (%0: f32[n,4], %1: f32[m,4]) {
      %2 = relu "one"(%0) : f32[n,4]
      return %2
    } : f32[n,4]
  return %3
})",
                   {{"n", 3}, {"m", 2}}),
            "");
}

}  // namespace
}  // namespace tenon
