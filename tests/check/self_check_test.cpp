// A planted wrong rule is found, named and left out, and the build ends well.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "check/compare.h"
#include "check/compile_checked.h"
#include "check/pass_bisect.h"
#include "check/processor_reference.h"
#include "check/sample.h"
#include "ir/text.h"
#include "memory_logger.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Takes every product for a sum: wrong for most nodes.
bool wrong_sums(Graph& graph, PassContext& context) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    auto* pointwise = node->as<Pointwise>();
    if (pointwise == nullptr || !context.allows(*node)) continue;
    if (pointwise->function != PointwiseFunction::k_mul) continue;
    pointwise->function = PointwiseFunction::k_add;
    changed = true;
  }
  return changed;
}

constexpr const char* kGraph = R"(graph "" (%0 "x": f32[4,3], %1 "y": f32[4,3]) {
  %2 = add "add1"(%0, %1) : f32[4,3]
  %3 = constant() {value = f32[3,3]{1,2,3,4,5,6,7,8,9}} : f32[3,3]
  %4 = matmul "product"(%2, %3) : f32[4,3]
  %5 = mul "mul1"(%4, %1) : f32[4,3]
  %6 = reduce "sum1"(%5) {axes = [1]} : f32[4,1]
  %7 = mul "mul2"(%6, %0) : f32[4,3]
  %8 "z" = softmax "softmax1"(%7) {axes = [1]} : f32[4,3]
  return %8
})";

std::unique_ptr<Graph> graph_of_text() {
  auto graph = parse_graph(kGraph);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(infer_graph(**graph).ok());
  return std::move(*graph);
}

CompileRequest request_of(std::unique_ptr<Graph> graph) {
  CompileRequest request;
  request.graph = std::move(graph);
  request.backend = cpu_backend(2);
  request.select.threads = 2;
  request.select.average_runs = 1;
  return request;
}

TEST(ProcessorReference, ComputesWhatTheReferenceDoes) {
  const std::unique_ptr<Graph> graph = graph_of_text();
  std::vector<Profile> profiles;
  ASSERT_TRUE(apply_profiles(*graph, profiles).ok());
  const auto inputs = sample_inputs(*graph, profiles[0]);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  const auto expected = evaluate_graph(*graph, *inputs);
  const auto found = evaluate_on_processor(*graph, profiles, *inputs);
  ASSERT_TRUE(expected.ok() && found.ok()) << found.error().message;
  EXPECT_EQ(compare_outputs(*graph, *found, *expected, 1e-5, nullptr), "");
  EXPECT_NE(compare_outputs(*graph, *found, *inputs, 1e-5, nullptr), "");
}

TEST(SelfCheck, AgreesWithTheReference) {
  MemoryLogger logger;
  TimingCache cache;
  const auto plan = compile_checked(request_of(graph_of_text()), cache, {}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_EQ(logger.text, "");
}

TEST(SelfCheck, FindsAPlantedPassAndItsNodes) {
  MemoryLogger logger;
  TimingCache cache;
  CompileRequest request = request_of(graph_of_text());
  // Regions would hide the products from the planted pass.
  request.passes.disabled = {"fuse_epilogue", "fuse_pointwise"};
  request.passes.extra.push_back({"wrong_sums", 1, "a mistake", wrong_sums});
  const auto plan = compile_checked(std::move(request), cache, {}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed without wrong_sums:mul1, wrong_sums:mul2");
  EXPECT_NE(logger.text.find("pass wrong_sums changes results at node 'mul1'"), std::string::npos)
      << logger.text;
  const auto network = graph_of_text();
  const auto inputs = sample_inputs(*network, plan->profiles[0]);
  const auto expected = evaluate_graph(*network, *inputs);
  const auto actual = run_plan(*plan, cpu_backend(2), 2, *inputs);
  ASSERT_TRUE(actual.ok()) << actual.error().message;
  EXPECT_EQ(compare_outputs(*network, *actual, *expected, 1e-4), "");
}

TEST(SelfCheck, LeavesAPassOutThatIsWrongAtManyNodes) {
  constexpr int kProducts = 10;
  std::string text = "graph \"\" (%0 \"x\": f32[4,3]) {\n";
  for (int i = 0; i < kProducts; ++i)
    text += fmt::format("  %{1} \"v{1}\" = mul \"mul{1}\"(%{0}, %0) : f32[4,3]\n", i, i + 1);
  text += fmt::format("  return %{}\n}}", kProducts);
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_TRUE(infer_graph(**graph).ok());
  MemoryLogger logger;
  TimingCache cache;
  CompileRequest request = request_of(std::move(*graph));
  request.passes.disabled = {"fuse_pointwise"};
  request.passes.extra.push_back({"wrong_sums", 1, "a mistake", wrong_sums});
  const auto plan = compile_checked(std::move(request), cache, {}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->settings.at("self_check").ends_with(", wrong_sums"))
      << plan->settings.at("self_check");
  EXPECT_NE(logger.text.find("pass wrong_sums changes results at many nodes; it is left out "
                             "altogether (--disablePass=wrong_sums does the same)"),
            std::string::npos)
      << logger.text;
}

/// Takes off what sums add. In front of a softmax that is invisible when it is the same for
/// all.
bool wrong_signs(Graph& graph, PassContext& context) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    auto* pointwise = node->as<Pointwise>();
    if (pointwise == nullptr || !context.allows(*node)) continue;
    if (pointwise->function != PointwiseFunction::k_add) continue;
    pointwise->function = PointwiseFunction::k_sub;
    changed = true;
  }
  return changed;
}

constexpr const char* kShifted = R"(graph "" (%0 "x": f32[4,3]) {
  %1 = constant() {value = f32[1]{2}} : f32[1]
  %2 "e" = exp "exp1"(%0) : f32[4,3]
  %3 "s" = add "shift"(%2, %1) : f32[4,3]
  %4 "y" = softmax "softmax1"(%3) {axes = [1]} : f32[4,3]
  return %4
})";

CompileRequest shifted_request() {
  auto graph = parse_graph(kShifted);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(infer_graph(**graph).ok());
  CompileRequest request = request_of(std::move(*graph));
  request.passes.disabled = {"fuse_pointwise"};
  request.passes.extra.push_back({"wrong_signs", 1, "a mistake", wrong_signs});
  return request;
}

TEST(SelfCheck, OutputsAloneDoNotShowWhatSoftmaxHides) {
  MemoryLogger logger;
  TimingCache cache;
  const auto plan = compile_checked(shifted_request(), cache, {}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_EQ(logger.text, "");
}

TEST(SelfCheck, RegionsShowWhatOutputsHide) {
  MemoryLogger logger;
  TimingCache cache;
  const auto plan = compile_checked(shifted_request(), cache, {.regions = true}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed without wrong_signs:shift");
  EXPECT_EQ(plan->settings.at("self_check_regions"), "3 of 3");
  EXPECT_NE(logger.text.find("self-check: region 'shift', value 's': distance"), std::string::npos)
      << logger.text;
  EXPECT_NE(logger.text.find("pass wrong_signs changes results at node 'shift'"), std::string::npos)
      << logger.text;
}

TEST(SelfCheck, RegionsAreComparedFromLevelFiveOn) {
  MemoryLogger logger;
  TimingCache cache;
  CompileRequest request = request_of(graph_of_text());
  request.passes.level = SelfCheck::kRegionLevel;
  const auto plan = compile_checked(std::move(request), cache, {}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_TRUE(plan->settings.contains("self_check_regions"));
  EXPECT_EQ(logger.text, "");
}

TEST(SelfCheck, IsNotDoneWhereItCostsTooMuchOrIsOff) {
  MemoryLogger logger;
  TimingCache cache;
  auto plan = compile_checked(request_of(graph_of_text()), cache, {.max_cost = 10}, logger);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->settings.at("self_check"), "not done: the model is too large for the reference");
  plan = compile_checked(request_of(graph_of_text()), cache, {.enabled = false}, logger);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->settings.contains("self_check"));
  CompileRequest request = request_of(graph_of_text());
  request.passes.level = 2;
  plan = compile_checked(std::move(request), cache, {}, logger);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->settings.contains("self_check"));
}

/// The softmax of the reference under another name, which adds to its first `count` results.
struct WrongSoftmax final : Kernel {
  WrongSoftmax(std::unique_ptr<Kernel> k, int64_t n) : inner(std::move(k)), count(n) {}
  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(inner->run(arguments));
    for (int64_t i = 0; i < count; ++i) static_cast<float*>(arguments.outputs[0])[i] += 1;
    return {};
  }
  size_t workspace_bytes() const override { return inner->workspace_bytes(); }
  std::unique_ptr<Kernel> inner;
  int64_t count;
};

/// The CPU's tactics, with that softmax in place of the right one.
std::vector<Tactic> tactics_with_wrong_softmax() {
  std::vector<Tactic> tactics(cpu_tactics().begin(), cpu_tactics().end());
  static const Tactic* reference = &cpu_tactics().back();
  Tactic wrong = *reference;
  wrong.name = "cpu.softmax.wrong";
  wrong.supports = [](const Problem& problem) {
    return problem.node->is<Softmax>() ? Support{} : Support::no("no softmax");
  };
  wrong.create = [](const Problem& problem,
                    std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    TENON_ASSIGN(auto inner, reference->create(problem, config));
    return std::unique_ptr<Kernel>(
        std::make_unique<WrongSoftmax>(std::move(inner), problem.outputs[0].count()));
  };
  std::erase_if(tactics, [](const Tactic& tactic) { return tactic.name == "cpu.softmax.rows"; });
  tactics.insert(tactics.begin(), wrong);
  return tactics;
}

TEST(SelfCheck, FindsAWrongKernel) {
  for (const bool regions : {false, true}) {
    MemoryLogger logger;
    TimingCache cache;
    CompileRequest request = request_of(graph_of_text());
    const std::vector<Tactic> tactics = tactics_with_wrong_softmax();
    request.backend.tactics = tactics;
    request.select.level = 0;  // The first that fits.
    const auto plan = compile_checked(std::move(request), cache, {.regions = regions}, logger);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->settings.at("self_check"), "passed without cpu.softmax.wrong");
    EXPECT_NE(logger.text.find(regions ? "region 'softmax1', kernel cpu.softmax.wrong: distance"
                                       : "kernel cpu.softmax.wrong gives wrong results"),
              std::string::npos)
        << logger.text;
  }
}

TEST(SelfCheck, FindsAWrongKernelWhoseResultsAreHidden) {
  // What all have too much, a difference does not show.
  constexpr const char* kTwice = R"(graph "" (%0 "x": f32[4,3]) {
  %1 "p" = softmax "softmax1"(%0) {axes = [1]} : f32[4,3]
  %2 "m" = reduce "max1"(%1) {function = max, axes = [1]} : f32[4,1]
  %3 "q" = sub "sub1"(%1, %2) : f32[4,3]
  return %3
})";
  auto graph = parse_graph(kTwice);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_TRUE(infer_graph(**graph).ok());
  MemoryLogger logger;
  TimingCache cache;
  CompileRequest request = request_of(std::move(*graph));
  const std::vector<Tactic> tactics = tactics_with_wrong_softmax();
  request.backend.tactics = tactics;
  request.select.level = 0;
  const auto plan = compile_checked(std::move(request), cache, {.regions = true}, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed without cpu.softmax.wrong");
}

}  // namespace
}  // namespace tenon
