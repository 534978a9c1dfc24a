// Of an If one of whose branches does not allow the extents the other one stays.
#include "ops/fitting_branches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/ops.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// With branches that take `then` and `other` rows, -1 for any.
std::unique_ptr<Graph> graph_for(int then, int other) {
  const auto branch = [](const char* name, int rows) {
    const std::string type = rows < 0 ? "f32[]" : fmt::format("f32[{},1]", rows);
    const std::string numbers = rows < 0 ? "2" : rows == 2 ? "1,1" : "1,1,1";
    return fmt::format(
        "graph \"{0}\" (%0: f32[n,4]) {{\n"
        "%1 = constant() {{value = {1}{{{2}}}}} : {1}\n%2 = mul \"{0} rows\"(%0, %1) : f32[n,4]\n"
        "%3 = reduce(%2) {{axes = [0], keep_dims = false}} : f32[4]\nreturn %3\n}}",
        name, type, numbers);
  };
  auto graph =
      parse_graph(fmt::format("graph \"\" (%0 \"c\": bool[], %1 \"x\": f32[n,4]) {{\n"
                              "%2 = if \"choice\"(%0, %1) {} {} : f32[4]\n"
                              "%3 = relu \"last\"(%2) : f32[4]\nreturn %3\n}}",
                              branch("then", then), branch("else", other)));
  if (!graph.ok()) ADD_FAILURE() << graph.error().message;
  return graph.ok() ? std::move(graph).value() : nullptr;
}

/// With so many rows.
Status fit(Graph& graph, int64_t rows) {
  EXPECT_TRUE(infer_graph(graph).ok());
  graph.inputs()[1]->type.shape[0] = Dim(rows);
  return keep_fitting_branches(graph);
}

int64_t count_ifs(const Graph& graph) {
  int64_t count = 0;
  for (const auto& node : graph.nodes()) count += node->is<If>() ? 1 : 0;
  return count;
}

Result<Tensor> run(const Graph& graph, bool taken, int64_t rows) {
  Tensor condition(DataType::kBool, {}), x(DataType::kFloat32, {rows, 4});
  condition.set_from_int64(0, taken ? 1 : 0);
  for (int64_t i = 0; i < x.count(); ++i) x.set_from_double(i, 1);
  const std::vector<Tensor> inputs = {condition, x};
  TENON_ASSIGN(const auto results, evaluate_graph(graph, inputs));
  return results[0];
}

TEST(FittingBranches, BothStayWhereTheyFit) {
  const auto graph = graph_for(3, -1);
  ASSERT_TRUE(fit(*graph, 3).ok());
  EXPECT_EQ(count_ifs(*graph), 1);
}

TEST(FittingBranches, OneThatFitsStaysBehindAnAssertion) {
  for (const bool kept : {false, true}) {
    const auto graph = kept ? graph_for(-1, 2) : graph_for(2, -1);
    const Status status = fit(*graph, 3);
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_TRUE(infer_graph(*graph).ok());
    EXPECT_EQ(count_ifs(*graph), 0);
    const auto right = run(*graph, kept, 3);
    ASSERT_TRUE(right.ok()) << right.error().message;
    EXPECT_EQ(right->as_double(0), 6);
    const auto wrong = run(*graph, !kept, 3);
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find(kept ? "the else branch" : "the then branch"),
              std::string::npos)
        << wrong.error().message;
  }
}

TEST(FittingBranches, OneThatFitsIsNeeded) {
  const auto graph = graph_for(2, 2);
  const Status status = fit(*graph, 3);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("then rows"), std::string::npos) << status.error().message;
}

TEST(FittingBranches, ThoseInsideOfLoopsAreFittedToo) {
  auto graph = parse_graph(R"(graph "" (%0 "c": bool[], %1 "x": f32[n,4]) {
  %2 = constant() {value = i64[]{2}} : i64[]
  %3 = loop "loop"(%2, _, %1, %0) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[n,4], %3: bool[]) {
      %4 = if "choice"(%3, %2) graph "then" (%0: f32[n,4]) {
          %1 = constant() {value = f32[2,1]{1,1}} : f32[2,1]
          %2 = mul "two rows"(%0, %1) : f32[n,4]
          return %2
        } graph "else" (%0: f32[n,4]) {
          %1 = add "twice"(%0, %0) : f32[n,4]
          return %1
        } : f32[n,4]
      return %1, %4
    } : f32[n,4]
  %4 = reduce(%3) {axes = [0], keep_dims = false} : f32[4]
  return %4
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Status status = fit(**graph, 3);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const auto right = run(**graph, false, 3);
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_EQ(right->as_double(0), 12);
  EXPECT_FALSE(run(**graph, true, 3).ok());
}

}  // namespace
}  // namespace tenon
