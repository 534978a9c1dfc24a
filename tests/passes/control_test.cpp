// Switches of passes: levels, passes and nodes that are left out, log lines, and the names of fused
// nodes.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/pass.h"

namespace tenon {
namespace {

constexpr const char* kGraph = R"(graph "" (%0 "x": f32[2,3], %1 "y": f32[2,4]) {
  %2 = constant() {value = f32[3,4]{1,2,3,4,5,6,7,8,9,10,11,12}} : f32[3,4]
  %3 = matmul "ip1"(%0, %2) : f32[2,4] from ["ip1"]
  %4 "first" = relu "relu1"(%3) : f32[2,4] from ["relu1"]
  %5 = softmax "softmax1"(%4) {axes = [1]} : f32[2,4] from ["softmax1"]
  %6 = add "add1"(%5, %1) : f32[2,4] from ["add1"]
  %7 "last" = tanh "tanh1"(%6) : f32[2,4] from ["tanh1"]
  return %7
})";

class InfoLogger final : public Logger {
 public:
  void write(Severity severity, std::string_view message) override {
    if (severity == Severity::kInfo) lines.emplace_back(message);
  }
  std::vector<std::string> lines;
};

struct Outcome {
  std::vector<std::string> names, applied, logged;

  bool has_node(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

Outcome run(const PassOptions& options) {
  Outcome outcome;
  auto graph = parse_graph(kGraph);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  InfoLogger logger;
  const auto applied = run_passes(**graph, options, logger);
  EXPECT_TRUE(applied.ok()) << applied.error().message;
  outcome.applied = *applied;
  outcome.logged = logger.lines;
  for (const auto& node : (*graph)->nodes()) outcome.names.push_back(node->name);
  return outcome;
}

TEST(Control, NamesAndLogLinesAreThoseOfTheGuide) {
  const Outcome outcome = run({});
  EXPECT_TRUE(outcome.has_node("ip1 + relu1"));
  EXPECT_TRUE(outcome.has_node("fusedPointwiseNode(add1, tanh1)"));
  const std::vector<std::string> applied = {"fuse_epilogue: ip1 + relu1",
                                            "fuse_pointwise: fusedPointwiseNode(add1, tanh1)"};
  EXPECT_EQ(outcome.applied, applied);
  const std::vector<std::string> logged = {"ip1 + relu1: fuse_epilogue",
                                           "fusedPointwiseNode(add1, tanh1): fuse_pointwise"};
  EXPECT_EQ(outcome.logged, logged);
}

TEST(Control, LevelZeroJoinsNothing) {
  PassOptions options;
  options.level = 0;
  const Outcome outcome = run(options);
  for (const char* name : {"ip1", "relu1", "softmax1", "add1", "tanh1"})
    EXPECT_TRUE(outcome.has_node(name)) << name;
  EXPECT_TRUE(outcome.applied.empty());
}

TEST(Control, APassIsLeftOut) {
  PassOptions options;
  options.disabled = {"fuse_epilogue"};
  const Outcome outcome = run(options);
  EXPECT_TRUE(outcome.has_node("ip1"));
  EXPECT_TRUE(outcome.has_node("fusedPointwiseNode(add1, tanh1)"));
}

TEST(Control, APassIsLeftOutForSomeNodes) {
  PassOptions options;
  options.disabled = {"fuse_pointwise:add*"};
  const Outcome outcome = run(options);
  EXPECT_TRUE(outcome.has_node("ip1 + relu1"));
  EXPECT_TRUE(outcome.has_node("add1"));
}

TEST(Control, NodesStayUnfused) {
  PassOptions options;
  options.no_fuse = {"relu?", "tanh1"};
  const Outcome outcome = run(options);
  for (const char* name : {"ip1", "relu1", "add1", "tanh1"})
    EXPECT_TRUE(outcome.has_node(name)) << name;
}

TEST(Control, EachIsAStepOfThePipeline) {
  const std::vector<const PassInfo*> steps = pipeline_of({});
  for (const PassInfo& pass : pass_table())
    EXPECT_NE(std::ranges::find(steps, &pass), steps.end()) << pass.name;
}

TEST(Control, OnlyTheFirstStepsRun) {
  PassOptions options;
  options.steps = 0;
  EXPECT_TRUE(run(options).applied.empty());
  EXPECT_GT(pipeline_of(options).size(), pass_table().size());
}

}  // namespace
}  // namespace tenon
