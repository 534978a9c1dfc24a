// Branches, loops and scans run their bodies' kernels and agree with the reference.
#include <gtest/gtest.h>

#include "../tolerances.h"
#include "graphs.h"
#include "ir/text.h"
#include "ops/table.h"

namespace tenon {
namespace {

void expect_reference(const std::string& text, const std::vector<Tensor>& inputs,
                      bool data_dependent) {
  const auto graph = named_graph(text);
  const auto expected = evaluate_graph(*graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto engine = engine_of(graph->clone());
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  EXPECT_EQ((*engine)->data_dependent(), data_dependent);
  for (const auto& node : (*engine)->graph().nodes()) EXPECT_NE(node->tactic, "cpu.reference");
  const auto results = run_engine(*engine, inputs);
  ASSERT_TRUE(results.ok()) << results.error().message;
  for (size_t i = 0; i < expected->size(); ++i) {
    ASSERT_EQ((*results)[i].extents(), (*expected)[i].extents()) << "output " << i;
    for (int64_t k = 0; k < (*expected)[i].count(); ++k)
      ASSERT_NEAR((*results)[i].as_double(k), (*expected)[i].as_double(k), test::kNear) << k;
  }
}

Tensor flag(bool value) {
  Tensor tensor(DataType::kBool, {});
  tensor.set_from_int64(0, value);
  return tensor;
}

constexpr char kTrue[] = "%9 = constant() {value = bool[]{1}} : bool[]\n";

TEST(ControlFlow, TripCountsAreRead) {
  const std::string text =
      std::string("(%0: i64[], %1: f32[1,4]) {") + kTrue +
      R"(%2 = constant() {value = f32[4,4]{1,2,0,1,0,1,2,1,1,0,0,3,2,1,1,1}} : f32[4,4]
  %3 = loop "loop"(%0, _, %1, %2, %9) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[1,4], %3: f32[4,4], %4: bool[]) {
      %5 = matmul "product"(%2, %3) : f32[1,4]
      %6 = tanh "tanh"(%5) : f32[1,4]
      %7 = cast(%0) {to = f32} : f32[]
      %8 = add "sum"(%6, %7) : f32[1,4]
      return %4, %8
    } : f32[1,4]
  return %3
})";
  for (const int64_t trips : {0, 1, 2, 7, 1500})
    expect_reference(text, {Tensor::scalar_i64(trips), numbers({1, 4}, 1, 0.1)}, false);
}

TEST(ControlFlow, ConditionsEndLoops) {
  const std::string text = R"((%0: bool[], %1: f32[3]) {
  %2 = constant() {value = f32[]{100}} : f32[]
  %3, %4 = loop "loop"(_, %0, %1, %1) {carried = 2} graph "body" (%0: i64[], %1: bool[], %2: f32[3], %3: f32[3]) {
      %4 = constant() {value = f32[]{40}} : f32[]
      %5 = add "double"(%2, %2) : f32[3]
      %6 = reduce "top"(%5) {function = max, axes = [0], keep_dims = false} : f32[]
      %7 = less "more"(%6, %4) : bool[]
      return %7, %5, %2
    } : f32[3], f32[3]
  %5 = mul(%3, %2) : f32[3]
  return %5, %4
})";
  for (const bool starts : {false, true})
    expect_reference(text, {flag(starts), numbers({3}, 12, 0.5)}, false);
}

TEST(ControlFlow, SlicesOfADynamicLoopAreStacked) {
  const std::string text = R"((%0: i64[], %1: f32[2]) {
  %2, %3 = loop "loop"(%0, _, %1) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[2]) {
      %3 = constant() {value = f32[]{30}} : f32[]
      %4 = add "double"(%2, %2) : f32[2]
      %5 = reduce "top"(%4) {function = max, axes = [0], keep_dims = false} : f32[]
      %6 = less "more"(%5, %3) : bool[]
      return %6, %4, %2
    } : f32[2], f32[n,2]
  return %2, %3
})";
  for (const int64_t trips : {0, 1, 3, 50})
    expect_reference(text, {Tensor::scalar_i64(trips), numbers({2}, 9, 1)}, true);
}

TEST(ControlFlow, StatesMayGrow) {
  const std::string text = R"((%0: i64[], %1: f32[1,2]) {
  %2 = constant() {value = bool[]{1}} : bool[]
  %3 = loop "loop"(%0, _, %1, %1, %2) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[n,2], %3: f32[1,2], %4: bool[]) {
      %5 = concat "grow"(%2, %3) : f32[n,2]
      %6 = tanh "tanh"(%5) : f32[n,2]
      return %4, %6
    } : f32[n,2]
  %4 = add(%3, %1) : f32[n,2]
  return %4
})";
  for (const int64_t trips : {0, 1, 5})
    expect_reference(text, {Tensor::scalar_i64(trips), numbers({1, 2}, 3, 0.1)}, true);
}

TEST(ControlFlow, StatesMayBeginWithAnExtentOfAnotherLoop) {
  const std::string text = R"((%0: i64[], %1: f32[1,2]) {
  %2 = loop "grows"(%0, _, %1) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[n,2]) {
      %3 = concat "longer"(%2, %2) : f32[2*n,2]
      return %1, %3
    } : f32[n,2]
  %3 = loop "ends"(%0, _, %2) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[n,2]) {
      %3 = reduce "sum"(%2) {function = sum, axes = [0]} : f32[1,2]
      %4 = concat "three"(%3, %3, %3) : f32[3,2]
      return %1, %4
    } : f32[n,2]
  return %3, %2
})";
  for (const int64_t trips : {0, 1, 2, 3})
    expect_reference(text, {Tensor::scalar_i64(trips), numbers({1, 2}, 1, 0.5)}, true);
}

TEST(ControlFlow, LongScansGoAlongAnyAxis) {
  const std::string text = R"((%0: f32[3], %1: f32[3,1100], %2: f32[1100,3]) {
  %3, %4, %5 = scan "scan"(%0, %1, %2) {states = 1, scanned = 2, input_axes = [1,0], input_directions = [1,0], output_axes = [1,0], output_directions = [0,1]} graph "body" (%0: f32[3], %1: f32[3], %2: f32[3]) {
      %3 = constant() {value = f32[]{0.5}} : f32[]
      %4 = mul "half"(%0, %3) : f32[3]
      %5 = add "sum"(%4, %1) : f32[3]
      %6 = mul "product"(%5, %2) : f32[3]
      return %5, %5, %6
    } : f32[3], f32[3,1100], f32[1100,3]
  return %3, %4, %5
})";
  expect_reference(
      text, {numbers({3}, 1, 1), numbers({3, 1100}, 2, 0.1), numbers({1100, 3}, 5, 0.1)}, false);
}

TEST(ControlFlow, BranchesOfTheSameShapeStayStatic) {
  const std::string text = R"((%0: bool[], %1: f32[2,3]) {
  %2 = if "if"(%0, %1) graph "then" (%0: f32[2,3]) {
      %1 = softmax "softmax"(%0) {axes = [1]} : f32[2,3]
      return %1
    } graph "else" (%0: f32[2,3]) {
      return %0
    } : f32[2,3]
  %3 = add(%2, %2) : f32[2,3]
  return %3, %2
})";
  for (const bool taken : {false, true})
    expect_reference(text, {flag(taken), numbers({2, 3}, 1, 0.3)}, false);
}

/// Of an If the one branch takes two rows alone, in one way or another.
constexpr std::string_view kTakesTwoRows[] = {
    R"(%1 = constant() {value = i64[2]{2,8}} : i64[2]
      %2 = reshape "two rows"(%0, %1) : f32[2,8]
      %3 = reduce "mean"(%2) {function = mean, axes = [0]} : f32[1,8])",
    R"(%1 = constant() {value = f32[2,8]{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}} : f32[2,8]
      %2 = add "two rows"(%0, %1) : f32[n,8]
      %3 = reduce "mean"(%2) {function = mean, axes = [0]} : f32[1,8])",
    R"(%1 = transpose "turned"(%0) {permutation = [1,0]} : f32[8,n]
      %4 = constant() {value = f32[2]{1,2}} : f32[2]
      %5 = normalization "two rows"(%1, %4) : f32[8,n]
      %2 = transpose "back"(%5) {permutation = [1,0]} : f32[n,8]
      %3 = reduce "mean"(%2) {function = mean, axes = [0]} : f32[1,8])"};

Result<std::unique_ptr<Graph>> graph_with_branch(std::string_view branch) {
  TENON_ASSIGN(auto graph,
               parse_graph(fmt::format(
                   R"(graph "" (%0 "taken": bool[], %1 "x": f32[n,8]) where n in [2,4] {{
  %2 "y" = if "if"(%0, %1) graph "then" (%0: f32[n,8]) where n in [2,4] {{
      {}
      return %3
    }} graph "else" (%0: f32[n,8]) where n in [2,4] {{
      %1 = reduce "sum"(%0) {{function = sum, axes = [0]}} : f32[1,8]
      return %1
    }} : f32[1,8]
  return %2
}})",
                   branch)));
  TENON_TRY(infer_graph(*graph));
  return graph;
}

/// Runs both branches; where the taken one does not fit that is an error.
void expect_branches(const Graph& graph, const std::shared_ptr<Engine>& engine, int64_t rows) {
  for (const bool taken : {false, true}) {
    const std::vector<Tensor> inputs = {flag(taken), numbers({rows, 8}, 1, 0.3)};
    const auto results = run_engine(engine, inputs);
    const auto expected = evaluate_graph(graph, inputs);
    ASSERT_EQ(results.ok(), !taken || rows == 2)
        << rows << (results.ok() ? "" : results.error().message);
    ASSERT_EQ(expected.ok(), results.ok());
    if (!results.ok()) continue;
    for (int64_t k = 0; k < 8; ++k)
      EXPECT_NEAR((*results)[0].as_double(k), (*expected)[0].as_double(k), test::kNear);
  }
}

TEST(ControlFlow, BranchesThatAreNotTakenMayNotFit) {
  for (const std::string_view branch : kTakesTwoRows)
    for (const int64_t usual : {2, 3}) {
      const auto graph = graph_with_branch(branch);
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      const Profile profile = {{"taken", {{}, {}, {}}}, {"x", {{2, 8}, {usual, 8}, {4, 8}}}};
      const auto engine = engine_of((*graph)->clone(), {profile});
      ASSERT_TRUE(engine.ok()) << engine.error().message;
      for (const int64_t rows : {2, 3, 4}) expect_branches(**graph, *engine, rows);
    }
}

TEST(ControlFlow, BranchesThatAreNeverTakenMayNotFit) {
  for (const std::string_view branch : kTakesTwoRows)
    for (const int64_t rows : {2, 3}) {
      const auto graph = graph_with_branch(branch);
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      const Profile profile = {{"taken", {{}, {}, {}}}, {"x", {{rows, 8}, {rows, 8}, {rows, 8}}}};
      const auto engine = engine_of((*graph)->clone(), {profile});
      ASSERT_TRUE(engine.ok()) << engine.error().message;
      expect_branches(**graph, *engine, rows);
    }
}

TEST(ControlFlow, BranchesMayDifferInShape) {
  const std::string text = R"((%0: bool[], %1: f32[2,3]) {
  %2 = if "if"(%0, %1) graph "then" (%0: f32[2,3]) {
      %1 = concat "twice"(%0, %0) : f32[4,3]
      return %1
    } graph "else" (%0: f32[2,3]) {
      return %0
    } : f32[n,3]
  %3 = add(%2, %2) : f32[n,3]
  return %3, %2
})";
  for (const bool taken : {false, true})
    expect_reference(text, {flag(taken), numbers({2, 3}, 1, 0.3)}, true);
}

TEST(ControlFlow, BodiesMayDependOnData) {
  // The sum of each row's positive elements.
  const std::string text = R"((%0: f32[5,6]) {
  %1 = scan "scan"(%0) {states = 0, scanned = 1} graph "body" (%0: f32[6]) {
      %1 = constant() {value = f32[]{0}} : f32[]
      %2 = greater "positive"(%0, %1) : bool[6]
      %3 = compress "kept"(%0, %2) {flat = true} : f32[n]
      %4 = reduce "sum"(%3) {axes = [0], keep_dims = false} : f32[]
      return %4
    } : f32[5]
  return %1
})";
  expect_reference(text, {numbers({5, 6}, 4, 0.3)}, true);
}

TEST(ControlFlow, ExtentsMayFollowFromDataOfABody) {
  // The positive elements of a row twice, as a scan's slice and as a branch's result.
  const std::string body = R"((%0: f32[6]) {
      %1 = constant() {value = f32[]{0}} : f32[]
      %2 = greater "positive"(%0, %1) : bool[6]
      %3 = compress "kept"(%0, %2) {flat = true} : f32[n]
      %4 = concat "twice"(%3, %3) {axis = 0} : f32[2*n]
      return %4
    } : f32[1,m]
  %2 = add "sum"(%1, %1) : f32[1,m]
  return %2, %1
})";
  const std::string scan = R"((%0: f32[1,6]) {
  %1 = scan "scan"(%0) {states = 0, scanned = 1} graph "body" )";
  expect_reference(scan + body, {numbers({1, 6}, 4, 0.3)}, true);
  const std::string branch = R"((%0: bool[], %1: f32[6]) {
  %2 = constant() {value = bool[]{1}} : bool[]
  %3 = if "if"(%2, %1) graph "then" (%0: f32[6]) {
      %1 = constant() {value = f32[]{0}} : f32[]
      %2 = greater "positive"(%0, %1) : bool[6]
      %3 = compress "kept"(%0, %2) {flat = true} : f32[n]
      %4 = concat "twice"(%3, %3) {axis = 0} : f32[2*n]
      return %4
    } graph "else" (%0: f32[6]) {
      return %0
    } : f32[m]
  return %3
})";
  expect_reference(branch, {flag(true), numbers({6}, 4, 0.3)}, true);
}

TEST(ControlFlow, Nests) {
  const std::string text = R"((%0: i64[], %1: f32[2]) {
  %2 = constant() {value = bool[]{1}} : bool[]
  %3 = constant() {value = f32[]{1}} : f32[]
  %4 = loop "outer"(%0, _, %1, %0, %2, %3) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[2], %3: i64[], %4: bool[], %5: f32[]) {
      %6 = loop "inner"(%3, _, %2, %4, %5) {carried = 1} graph "body" (%0: i64[], %1: bool[], %2: f32[2], %3: bool[], %4: f32[]) {
          %5 = add "step"(%2, %4) : f32[2]
          %6 = reduce "top"(%5) {function = max, axes = [0], keep_dims = false} : f32[]
          %7 = less "small"(%6, %4) : bool[]
          %8 = if "if"(%7, %5) graph "then" (%0: f32[2]) {
              %1 = exp "exp"(%0) : f32[2]
              return %1
            } graph "else" (%0: f32[2]) {
              %1 = neg "neg"(%0) : f32[2]
              return %1
            } : f32[2]
          return %3, %8
        } : f32[2]
      %7 = tanh "tanh"(%6) : f32[2]
      return %4, %7
    } : f32[2]
  return %4
})";
  expect_reference(text, {Tensor::scalar_i64(3), numbers({2}, 3, 0.2)}, false);
}

}  // namespace
}  // namespace tenon
