#include "evaluate_helper.h"
#include "ops/control_flow.h"
#include "ops/ops.h"
#include "ops/verifier.h"

namespace tenon {
namespace {

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto results = evaluate_graph(graph, inputs);
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results.ok() ? std::move(*results) : std::vector<Tensor>();
}

using Doubles = std::vector<double>;

TEST(If, JoinsAndChooses) {
  const auto graph = graph_of("%0: bool[], %1: f32[n,2]", R"(
    %2 = if(%0, %1)
      graph "then" (%0: f32[]) { %1 = neg(%0) : f32[] return %1 }
      graph "else" (%0: f32[]) { %1 = constant() {value = f32[1,2]{7,8}} : f32[] return %1 }
      : f32[]
    return %2)");
  ASSERT_NE(graph, nullptr);
  EXPECT_TRUE(verify(*graph).ok());
  EXPECT_EQ(to_string(graph->outputs()[0]->type.shape), "[d0,2]");
  ASSERT_TRUE(infer_graph(*graph).ok());
  EXPECT_EQ(to_string(graph->outputs()[0]->type.shape), "[d0,2]") << "inference is idempotent";
  const Tensor x = tensor_of(DataType::kFloat32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values_of(run(*graph, {tensor_of(DataType::kBool, {}, {1}), x}).at(0)),
            (Doubles{-1, -2, -3, -4}));
  EXPECT_EQ(values_of(run(*graph, {tensor_of(DataType::kBool, {}, {0}), x}).at(0)),
            (Doubles{7, 8}));
}

/// A condition that follows from the shapes leaves one branch.
TEST(If, RunsOneBranchOfAKnownCondition) {
  const auto graph = graph_of("%0: f32[n]", R"(
    %1 = dims() {expressions = ["n"], extents = []} : i64[]
    %2 = equal(%1, %1) : bool[]
    %3 = if(%2, %0)
      graph "then" (%0: f32[]) { %1 = neg(%0) : f32[] return %1 }
      graph "else" (%0: f32[]) { %1 = abs(%0) : f32[] return %1 }
      : f32[]
    return %3)");
  ASSERT_NE(graph, nullptr);
  const Node& node = *graph->outputs()[0]->producer();
  EXPECT_TRUE(may_run(node, 0));
  EXPECT_FALSE(may_run(node, 1));
}

TEST(Loop, CarriesStacksAndStops) {
  const auto graph = graph_of("%0: i64[]=(5), %1: f32[2]", R"(
    %2, %3 = loop(%0, _, %1, %1) {carried = 1}
      graph "body" (%0: i64[], %1: bool[], %2: f32[], %3: f32[]) {
        %4 = add(%2, %3) : f32[]
        return %1, %4, %4
      } : f32[], f32[]
    return %2, %3)");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(to_string(graph->outputs()[1]->type.shape), "[5,2]");
  const auto results =
      run(*graph, {Tensor::scalar_i64(5), tensor_of(DataType::kFloat32, {2}, {1, 10})});
  EXPECT_EQ(values_of(results.at(0)), (Doubles{6, 60}));
  EXPECT_EQ(values_of(results.at(1)), (Doubles{2, 20, 3, 30, 4, 40, 5, 50, 6, 60}));
}

/// ONNX writes scalars as vectors of one number, too.
TEST(Loop, TakesVectorsOfOneNumber) {
  const char* body = R"(
    %2 = loop(%0, _, %1) {carried = 1}
      graph "body" (%0: i64[], %1: bool[], %2: f32[2]) {
        %3 = add(%2, %2) : f32[]
        return %1, %3
      } : f32[]
    return %2)";
  const auto graph = graph_of("%0: i64[1], %1: f32[2]", body);
  ASSERT_NE(graph, nullptr);
  const Tensor trips = Tensor::vector_i64(std::vector<int64_t>{3});
  const auto results = run(*graph, {trips, tensor_of(DataType::kFloat32, {2}, {1, 10})});
  EXPECT_EQ(values_of(results.at(0)), (Doubles{8, 80}));
  EXPECT_NE(infer_error("%0: i64[1,1], %1: f32[2]", body).find("must be a scalar"),
            std::string::npos);
}

TEST(Loop, NeverRunsWhereItsFirstConditionIsFalse) {
  for (const char* condition : {"0", "1"}) {
    const auto graph = graph_of("%0: f32[2]", fmt::format(R"(
      %8 = constant() {{value = i64[]{{5}}}} : i64[]
      %9 = constant() {{value = bool[]{{{}}}}} : bool[]
      %2, %3 = loop(%8, %9, %0, %0) {{carried = 1}}
        graph "body" (%0: i64[], %1: bool[], %2: f32[], %3: f32[]) {{
          %4 = add(%2, %3) : f32[]
          return %1, %4, %4
        }} : f32[], f32[]
      return %2, %3)",
                                                          condition));
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ(to_string(graph->outputs()[1]->type.shape), *condition == '0' ? "[0,2]" : "[5,2]");
    const auto results = run(*graph, {tensor_of(DataType::kFloat32, {2}, {1, 10})});
    EXPECT_EQ(results.at(1).extents()[0], *condition == '0' ? 0 : 5);
  }
}

TEST(Loop, WhileWithItsCondition) {
  const auto graph = graph_of("%0: bool[], %1: i64[]", R"(
    %9 = constant() {value = i64[]{100}} : i64[]
    %2, %3 = loop(_, %0, %1, %9) {carried = 1}
      graph "body" (%0: i64[], %1: bool[], %2: i64[], %3: i64[]) {
        %4 = add(%2, %2) : i64[]
        %5 = less(%4, %3) : bool[]
        return %5, %4, %0
      } : i64[], i64[]
    return %2, %3)");
  ASSERT_NE(graph, nullptr);
  const auto results = run(*graph, {tensor_of(DataType::kBool, {}, {1}), Tensor::scalar_i64(3)});
  EXPECT_EQ(values_of(results.at(0)), (Doubles{192}));
  EXPECT_EQ(values_of(results.at(1)), (Doubles{0, 1, 2, 3, 4, 5}));
  const auto none = run(*graph, {tensor_of(DataType::kBool, {}, {0}), Tensor::scalar_i64(3)});
  EXPECT_EQ(values_of(none.at(0)), (Doubles{3}));
  EXPECT_EQ(none.at(1).extents(), (Extents{0}));
}

TEST(Scan, DirectionsAndAxes) {
  const auto graph = graph_of("%0: f32[], %1: f32[2,n]", R"(
    %2, %3 = scan(%0, %1) {states = 1, scanned = 1, input_axes = [1], input_directions = [1],
                           output_axes = [-1]}
      graph "body" (%0: f32[], %1: f32[]) {
        %2 = reduce(%1) {keep_dims = false} : f32[]
        %3 = add(%0, %2) : f32[]
        %4 = add(%1, %3) : f32[]
        return %3, %4
      } : f32[], f32[]
    return %2, %3)");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(to_string(graph->outputs()[1]->type.shape), "[2,n]");
  const auto results = run(*graph, {tensor_of(DataType::kFloat32, {}, {0}),
                                    tensor_of(DataType::kFloat32, {2, 3}, {1, 2, 3, 10, 20, 30})});
  EXPECT_EQ(values_of(results.at(0)), (Doubles{66}));
  EXPECT_EQ(values_of(results.at(1)), (Doubles{36, 57, 67, 63, 75, 76}));
}

TEST(Fused, EvaluatesItsBody) {
  const auto graph = graph_of("%0: f32[n]", R"(
    %1 = fused "neg + relu"(%0) graph "" (%0: f32[]) {
      %1 = neg(%0) : f32[]
      %2 = relu(%1) : f32[]
      return %2
    } : f32[]
    return %1)");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(to_string(graph->outputs()[0]->type.shape), "[n]");
  EXPECT_EQ(values_of(run(*graph, {tensor_of(DataType::kFloat32, {2}, {1, -2})}).at(0)),
            (Doubles{0, 2}));
}

TEST(Assertion, FailsWithItsMessage) {
  const auto graph = graph_of("%0: bool[2]", R"(assertion "a"(%0) {message = "too small"} return)");
  ASSERT_NE(graph, nullptr);
  EXPECT_TRUE(evaluate_graph(*graph, std::vector{tensor_of(DataType::kBool, {2}, {1, 1})}).ok());
  const auto failed = evaluate_graph(*graph, std::vector{tensor_of(DataType::kBool, {2}, {1, 0})});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("too small"), std::string::npos);
}

TEST(Infer, ErrorsNotCrashes) {
  EXPECT_NE(infer_error("%0: f32[2]", "%1 = add(%0) : f32[] return").find("2 operands"),
            std::string::npos);
  EXPECT_NE(infer_error("%0: f32[2]", "%1 = matmul(%0) : f32[] return").find("2 inputs"),
            std::string::npos);
  EXPECT_NE(infer_error("%0: f32[2]", "%1 = matmul(%0, _) : f32[] return").find("missing"),
            std::string::npos);
  EXPECT_NE(
      infer_error("%0: f32[2], %1: f32[3]", "%2 = add(%0, %1) : f32[] return").find("broadcast"),
      std::string::npos);
  EXPECT_NE(infer_error("%0: f32[2]", "%1 = fused(%0) : f32[] return").find("bodies"),
            std::string::npos);
  const auto graph = graph_of("%0: f32[a,1], %1: f32[1,b]", "%2 = add(%0, %1) : f32[] return %2");
  ASSERT_NE(graph, nullptr);
  const auto huge = Tensor(DataType::kFloat32, {4'000'000, 1});
  const auto result = evaluate_graph(*graph, std::vector{huge, huge.reshaped({1, 4'000'000})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kResource);
}

TEST(Verifier, SeesOrderAndCounts) {
  Graph graph;
  Value* x = graph.add_input("x", {});
  Node* a = graph.add_node(make_op("relu"), {x}, 1, "a");
  Node* b = graph.add_node(make_op("relu"), {x}, 1, "b");
  graph.add_output(b->output());
  EXPECT_TRUE(verify(graph).ok());
  a->set_input(0, b->output());
  EXPECT_NE(verify(graph).error().message.find("\"a\""), std::string::npos);
  ASSERT_TRUE(graph.sort().ok());
  EXPECT_TRUE(verify(graph).ok());
  a->truncate_inputs(0);
  EXPECT_FALSE(verify(graph).ok());
  Graph other;
  a->append_input(other.add_input("y", {}));
  EXPECT_FALSE(verify(graph).ok());
}

}  // namespace
}  // namespace tenon
