// A planted wrong rule is found, named and left out, and the build ends well.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/stop.h"
#include "base/stopwatch.h"
#include "check/compare.h"
#include "check/compile_checked.h"
#include "check/network_reference.h"
#include "check/observed_run.h"
#include "check/pass_bisect.h"
#include "check/processor_reference.h"
#include "check/sample.h"
#include "graph_text.h"
#include "memory_logger.h"
#include "ops/ops.h"

namespace tenon {
namespace {

/// A plan, or the error, and the warnings of its build.
struct Built {
  Result<Plan> plan;
  std::string log;
};
Built build(CompileRequest request, const SelfCheck& check = {}) {
  MemoryLogger logger;
  TimingCache cache;
  auto plan = compile_checked(std::move(request), cache, check, logger);
  return {std::move(plan), std::move(logger.text)};
}

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

const Tolerance kKernel = tolerance(Computation::kKernel, DataType::kFloat32);

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
  return inferred(kGraph);
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
  EXPECT_EQ(compare_outputs(*graph, *found, *expected, {}, kKernel), "");
  EXPECT_NE(compare_outputs(*graph, *found, *inputs, {}, kKernel), "");
}

TEST(NetworkReference, MakesKernelsForLargeNetworksAlone) {
  const auto small = graph_of_text();
  auto large = parse_graph(R"(graph "" (%0 "x": f32[2048,2048]) {
  %1 "y" = matmul "product"(%0, %0) : f32[2048,2048]
  return %1
})");
  ASSERT_TRUE(large.ok()) << large.error().message;
  std::vector<Profile> small_profiles, large_profiles;
  ASSERT_TRUE(apply_profiles(*small, small_profiles).ok());
  ASSERT_TRUE(apply_profiles(**large, large_profiles).ok());
  EXPECT_FALSE(NetworkReference(*small, small_profiles, true).takes_kernels());
  EXPECT_TRUE(NetworkReference(**large, large_profiles, true).takes_kernels());
  EXPECT_FALSE(NetworkReference(**large, large_profiles, false).takes_kernels());
}

TEST(SelfCheck, AgreesWithTheReference) {
  const auto [plan, log] = build(request_of(graph_of_text()));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_EQ(log, "");
}

TEST(SelfCheck, FindsAPlantedPassAndItsNodes) {
  CompileRequest request = request_of(graph_of_text());
  // Regions would hide the products from the planted pass.
  request.passes.disabled = {"fuse_epilogue", "fuse_pointwise"};
  request.passes.extra.push_back({"wrong_sums", 1, "a mistake", wrong_sums});
  const auto [plan, log] = build(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed without wrong_sums:mul1, wrong_sums:mul2");
  EXPECT_NE(log.find("pass wrong_sums changes results at node 'mul1'"), std::string::npos) << log;
  const auto network = graph_of_text();
  const auto inputs = sample_inputs(*network, plan->profiles[0]);
  const auto expected = evaluate_graph(*network, *inputs);
  const auto actual = run_plan(*plan, cpu_backend(2), 2, *inputs);
  ASSERT_TRUE(actual.ok()) << actual.error().message;
  EXPECT_EQ(compare_outputs(*network, *actual, *expected, {}, kKernel), "");
}

TEST(SelfCheck, LeavesAPassOutThatIsWrongAtManyNodes) {
  constexpr int kProducts = 10;
  std::string text = "graph \"\" (%0 \"x\": f32[4,3]) {\n";
  for (int i = 0; i < kProducts; ++i)
    text += fmt::format("  %{1} \"v{1}\" = mul \"mul{1}\"(%{0}, %0) : f32[4,3]\n", i, i + 1);
  text += fmt::format("  return %{}\n}}", kProducts);
  CompileRequest request = request_of(inferred(text));
  request.passes.disabled = {"fuse_pointwise"};
  request.passes.extra.push_back({"wrong_sums", 1, "a mistake", wrong_sums});
  const auto [plan, log] = build(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->settings.at("self_check").ends_with(", wrong_sums"))
      << plan->settings.at("self_check");
  EXPECT_NE(log.find("pass wrong_sums changes results at many nodes; it is left out "
                     "altogether (--disablePass=wrong_sums does the same)"),
            std::string::npos)
      << log;
}

/// Drops summands. In front of a softmax that is invisible when it is the same for all.
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
  CompileRequest request = request_of(inferred(kShifted));
  request.passes.disabled = {"fuse_pointwise"};
  request.passes.extra.push_back({"wrong_signs", 1, "a mistake", wrong_signs});
  return request;
}

TEST(SelfCheck, OutputsAloneDoNotShowWhatSoftmaxHides) {
  const auto [plan, log] = build(shifted_request());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_EQ(log, "");
}

TEST(SelfCheck, RegionsShowWhatOutputsHide) {
  const auto [plan, log] = build(shifted_request(), {.regions = true});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed without wrong_signs:shift");
  EXPECT_EQ(plan->settings.at("self_check_regions"), "3 of 3");
  EXPECT_NE(log.find("self-check: region 'shift', value 's': distance"), std::string::npos) << log;
  EXPECT_NE(log.find("pass wrong_signs changes results at node 'shift'"), std::string::npos) << log;
}

TEST(SelfCheck, RegionsAreComparedFromLevelFiveOn) {
  CompileRequest request = request_of(graph_of_text());
  request.passes.level = SelfCheck::kRegionLevel;
  const auto [plan, log] = build(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_TRUE(plan->settings.contains("self_check_regions"));
  EXPECT_EQ(log, "");
}

/// Calls of a function, or trips of a loop that is written out, have values of one name.
TEST(SelfCheck, ValuesOfOneNameAreNotCompared) {
  auto graph = parse_graph(R"(graph "" (%0 "x": f32[4]) {
  %1 "product" = mul "first"(%0, %0) : f32[4]
  %2 "product" = mul "second"(%1, %0) : f32[4]
  %3 "y" = softmax "softmax"(%2) {axes = [0]} : f32[4]
  return %3
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  CompileRequest request = request_of(std::move(*graph));
  request.passes.level = SelfCheck::kRegionLevel;
  const auto [plan, log] = build(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_EQ(log, "");
}

/// Who asks for all regions waits for them.
TEST(SelfCheck, OfAllRegionsHasTheHigherLimit) {
  constexpr int kLevel = SelfCheck::kRegionLevel;
  EXPECT_EQ(SelfCheck{}.limit(false, 3), SelfCheck::kDefaultMaxCost);
  EXPECT_EQ(SelfCheck{}.limit(true, 3), SelfCheck::kMaxCostOnProcessor);
  EXPECT_EQ(SelfCheck{}.limit(true, kLevel), SelfCheck::kDefaultMaxCost);
  EXPECT_EQ(SelfCheck{.regions = true}.limit(false, 3), SelfCheck::kMaxCostOnProcessor);
  EXPECT_EQ((SelfCheck{.regions = true, .max_cost = 10}.limit(true, 3)), 10);
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
  WrongSoftmax(std::unique_ptr<Kernel> k, int64_t n, bool f32 = true)
      : inner(std::move(k)), count(n), wide(f32) {}
  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(inner->run(arguments));
    for (int64_t i = 0; i < count; ++i) {
      if (wide)
        static_cast<float*>(arguments.outputs[0])[i] += 1;
      else
        static_cast<uint16_t*>(arguments.outputs[0])[i] ^= 0x40;  // Half of a bf16.
    }
    return {};
  }
  size_t workspace_bytes() const override { return inner->workspace_bytes(); }
  std::unique_ptr<Kernel> inner;
  int64_t count;
  bool wide;
};

/// The CPU's tactics, with that softmax in place of the right one.
std::vector<Tactic> tactics_with_wrong_softmax() {
  std::vector<Tactic> tactics(cpu_tactics().begin(), cpu_tactics().end());
  static const Tactic* reference = &cpu_tactics().back();
  Tactic wrong = *reference;
  wrong.name = "cpu.softmax.wrong";
  wrong.traits = {};
  wrong.takes = [](const Problem& problem) {
    return problem.operation.is<Softmax>() ? Support{} : Support::no("no softmax");
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

/// The same, wrong in its first result alone.
std::vector<Tactic> tactics_with_one_wrong_element() {
  std::vector<Tactic> tactics = tactics_with_wrong_softmax();
  tactics[0].create = [](const Problem& problem,
                         std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    TENON_ASSIGN(auto inner, cpu_tactics().back().create(problem, config));
    const bool wide = problem.outputs[0].type == DataType::kFloat32;
    return std::unique_ptr<Kernel>(std::make_unique<WrongSoftmax>(std::move(inner), 1, wide));
  };
  return tactics;
}

TEST(SelfCheck, FindsAWrongKernel) {
  for (const bool regions : {false, true}) {
    CompileRequest request = request_of(graph_of_text());
    const std::vector<Tactic> tactics = tactics_with_wrong_softmax();
    request.backend.tactics = tactics;
    request.select.level = 0;  // The first that fits.
    const auto [plan, log] = build(std::move(request), {.regions = regions});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->settings.at("self_check"), "passed without cpu.softmax.wrong");
    EXPECT_NE(log.find("region 'softmax1', kernel cpu.softmax.wrong: distance"), std::string::npos)
        << log;
  }
}

/// Nothing computes in the reference's place: without it the build would end for want of a kernel.
TEST(SelfCheck, LeavesNoReferenceOut) {
  CompileRequest request = request_of(graph_of_text());
  std::vector<Tactic> tactics = tactics_with_wrong_softmax();
  std::erase_if(tactics, [](const Tactic& row) { return row.name.starts_with("cpu.softmax."); });
  tactics.back().create = [](const Problem& problem,
                             std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    TENON_ASSIGN(auto inner, cpu_tactics().back().create(problem, config));
    if (!problem.operation.is<Softmax>()) return inner;
    const int64_t count = problem.outputs[0].count();
    return std::unique_ptr<Kernel>(std::make_unique<WrongSoftmax>(std::move(inner), count));
  };
  request.backend.tactics = tactics;
  const auto [plan, log] = build(std::move(request), {});
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("failed: region 'softmax1', kernel cpu.reference: distance"),
            std::string::npos)
      << plan.error().message << log;
}

/// The reference's reduction, whose first result is off by as much as sums in another order are.
struct NudgedReduction final : Kernel {
  explicit NudgedReduction(std::unique_ptr<Kernel> k) : inner(std::move(k)) {}
  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(inner->run(arguments));
    static_cast<float*>(arguments.outputs[0])[0] *= 1 + 0x1p-21f;
    return {};
  }
  size_t workspace_bytes() const override { return inner->workspace_bytes(); }
  std::unique_ptr<Kernel> inner;
};

/// Sums rounded to eighths, by a kernel that nudges the first of them, which is `first`.
Result<Plan> plan_with_nudged_sum(float first, Logger& logger) {
  constexpr const char* kSums = R"(graph "" (%0 "x": f32[400,4]) {
  %1 "sum" = reduce "sum1"(%0) {axes = [1]} : f32[400,1]
  %2 = constant() {value = f32[]{0.125}} : f32[]
  %3 "q" = quantize "q1"(%1, %2) : i8[400,1]
  %4 "y" = dequantize "d1"(%3, %2) : f32[400,1]
  return %4
})";
  TENON_ASSIGN(auto graph, parse_graph(kSums));
  TENON_TRY(infer_graph(*graph));
  Tensor x(DataType::kFloat32, {400, 4});
  for (int64_t i = 0; i < x.count(); ++i)
    x.set_from_double(i, i < 4 ? first / 4 : static_cast<double>(i * 7 % 5) / 8);
  CompileRequest request = request_of(std::move(graph));
  std::vector<Tactic> tactics(cpu_tactics().begin(), cpu_tactics().end());
  static const Tactic* reference = &cpu_tactics().back();
  Tactic nudged = *reference;
  nudged.name = "cpu.reduce.nudged";
  nudged.traits = {};
  nudged.takes = [](const Problem& problem) {
    return problem.operation.is<Reduce>() ? Support{} : Support::no("no reduction");
  };
  nudged.create = [](const Problem& problem,
                     std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    TENON_ASSIGN(auto inner, reference->create(problem, config));
    return std::unique_ptr<Kernel>(std::make_unique<NudgedReduction>(std::move(inner)));
  };
  tactics.insert(tactics.begin(), nudged);
  request.backend.tactics = tactics;
  request.select.level = 0;
  TimingCache cache;
  return compile_checked(std::move(request), cache, {.inputs = {x}}, logger);
}

TEST(SelfCheck, SumsInTheMiddleBetweenTwoBytesGoEitherWay) {
  MemoryLogger logger;
  const auto plan = plan_with_nudged_sum(0.3125F, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message << logger.text;
  EXPECT_EQ(plan->settings.at("self_check"), "passed") << logger.text;
}

/// A thousandth of x, in bytes `scale` apart; without, where `scale` is 0.
std::unique_ptr<Graph> thousandth_in_bytes(double scale) {
  const std::string bytes = fmt::format(R"(
  %3 = constant() {{value = f32[]{{{}}}}} : f32[]
  %4 "q" = quantize "q1"(%2, %3) : i8[4,3]
  %5 "d" = dequantize "d1"(%4, %3) : f32[4,3])",
                                        scale);
  const std::string text = fmt::format(R"(graph "" (%0 "x": f32[4,3]) {{
  %1 = constant() {{value = f32[]{{0.001}}}} : f32[]
  %2 "small" = mul "mul1"(%0, %1) : f32[4,3]{}
  %6 "y" = relu "relu1"(%{}) : f32[4,3]
  return %6
}})",
                                       scale == 0 ? "" : bytes, scale == 0 ? 2 : 5);
  return inferred(text);
}

/// Agreement with the network in bytes says nothing of the ranges that the build took.
TEST(SelfCheck, TellsByHowMuchABuildsQuantizationMovesOutputs) {
  for (const bool fits : {false, true}) {
    SelfCheck check;
    check.unquantized = thousandth_in_bytes(0);
    auto graph = thousandth_in_bytes(fits ? 0.001 / 127 : 4.0 / 127);
    const auto [plan, log] = build(request_of(std::move(graph)), check);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->settings.at("self_check"), "passed");
    EXPECT_EQ(log.find("int8 moves output 'y' by 1 of its size") != std::string::npos, !fits)
        << log;
    const auto cost = plan->settings.find("self_check_cost");
    EXPECT_EQ(cost != plan->settings.end() && cost->second.find("by 1 of") != std::string::npos,
              !fits);
  }
}

/// An evaluation ends between two nodes where it is asked to.
TEST(SelfCheck, EvaluationsCanBeStopped) {
  const std::unique_ptr<Graph> graph = graph_of_text();
  std::vector<Profile> profiles;
  ASSERT_TRUE(apply_profiles(*graph, profiles).ok());
  const auto inputs = sample_inputs(*graph, profiles[0]);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  int nodes = 0, evaluated = 0;
  const StopScope stops([&] { return ++nodes > 3; });
  const auto outputs = evaluate_graph(*graph, *inputs, [&](const Value& value, const Tensor&) {
    evaluated += value.producer() != nullptr ? 1 : 0;
  });
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.error().message.find("was stopped"), std::string::npos);
  EXPECT_EQ(evaluated, 3);
}

/// The search for a wrong pass ends within an evaluation of the network, which may take longer than
/// all the time that there is.
TEST(SelfCheck, TheSearchForWrongPassesEndsInTime) {
  std::string text = "graph \"\" (%0 \"x\": f32[384,384]) {\n";
  constexpr int kProducts = 60;
  for (int i = 0; i < kProducts; ++i)
    text += fmt::format("  %{1} \"v{1}\" = matmul \"m{1}\"(%{0}, %0) : f32[384,384]\n", i, i + 1);
  text += fmt::format("  return %{}\n}}", kProducts);
  const auto graph = inferred(text);
  Tensor x(DataType::kFloat32, {384, 384});
  for (int64_t i = 0; i < x.count(); ++i) x.set_from_double(i, i % 385 == 0 ? 1 : 0);
  Expectation expected;
  expected.inputs = {x};
  Stopwatch watch;
  const auto outputs = evaluate_graph(*graph, expected.inputs);
  const double once = watch.lap();
  ASSERT_TRUE(outputs.ok());
  expected.outputs = *outputs;
  expected.outputs[0] = Tensor(DataType::kFloat32, {384, 384});
  for (int64_t i = 0; i < x.count(); ++i) expected.outputs[0].set_from_double(i, 5);
  expected.tolerance = tolerance(Computation::kNetwork, DataType::kFloat32);
  PassOptions options;
  MemoryLogger logger;
  watch.lap();
  const auto wrong = disable_wrong_passes(*graph, options, expected, Deadline(once / 10), logger);
  EXPECT_LT(watch.lap(), once / 2);
  ASSERT_TRUE(wrong.ok()) << wrong.error().message;
  EXPECT_FALSE(wrong->in_time);
}

/// Sums whose terms cancel: all that is left is how they were added up.
TEST(SelfCheck, CancelledSumsAreNoErrors) {
  constexpr const char* kCancelled = R"(graph "" (%0 "x": f32[8,157,6]) {
  %1 = neg "n"(%0) : f32[8,157,6]
  %2 = concat "c"(%0, %1) {axis = 1} : f32[8,314,6]
  %3 "over" = reduce "s"(%2) {axes = [1]} : f32[8,1,6]
  %4 = concat "d"(%0, %1) {axis = 2} : f32[8,157,12]
  %5 "along" = reduce "t"(%4) {axes = [2]} : f32[8,157,1]
  return %3, %5
})";
  const auto [plan, log] = build(request_of(inferred(kCancelled)));
  ASSERT_TRUE(plan.ok()) << plan.error().message << log;
  EXPECT_EQ(plan->settings.at("self_check"), "passed") << log;
}

/// Whichever is left out, another is taken: more of them than the check leaves out one by one.
std::vector<Tactic> tactics_with_many_wrong_softmaxes() {
  static constexpr std::string_view kNames[] = {"cpu.softmax.a", "cpu.softmax.b", "cpu.softmax.c",
                                                "cpu.softmax.d", "cpu.softmax.e", "cpu.softmax.f",
                                                "cpu.softmax.g", "cpu.softmax.h", "cpu.softmax.i",
                                                "cpu.softmax.j", "cpu.softmax.k", "cpu.softmax.l"};
  std::vector<Tactic> tactics = tactics_with_wrong_softmax();
  for (const std::string_view name : kNames) {
    Tactic other = tactics.front();
    other.name = name;
    tactics.insert(tactics.begin(), other);
  }
  return tactics;
}

TEST(SelfCheck, APlanThatStaysWrongIsAnError) {
  CompileRequest request = request_of(graph_of_text());
  const std::vector<Tactic> tactics = tactics_with_many_wrong_softmaxes();
  request.backend.tactics = tactics;
  request.select.level = 0;
  const auto [plan, log] = build(std::move(request));
  ASSERT_FALSE(plan.ok()) << plan->settings.at("self_check");
  EXPECT_NE(plan.error().message.find("results are wrong"), std::string::npos)
      << plan.error().message;
}

TEST(SelfCheck, APlanThatStaysWrongIsKeptWhereThatIsWanted) {
  CompileRequest request = request_of(graph_of_text());
  const std::vector<Tactic> tactics = tactics_with_many_wrong_softmaxes();
  request.backend.tactics = tactics;
  request.select.level = 0;
  const auto [plan, log] = build(std::move(request), {.keep_failed = true});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->settings.at("self_check").starts_with("failed"))
      << plan->settings.at("self_check");
  EXPECT_NE(log.find("self-check:"), std::string::npos);
}

TEST(SelfCheck, FindsAWrongKernelWhoseResultsAreHidden) {
  // An error common to all does not show in a difference.
  constexpr const char* kTwice = R"(graph "" (%0 "x": f32[4,3]) {
  %1 "p" = softmax "softmax1"(%0) {axes = [1]} : f32[4,3]
  %2 "m" = reduce "max1"(%1) {function = max, axes = [1]} : f32[4,1]
  %3 "q" = sub "sub1"(%1, %2) : f32[4,3]
  return %3
})";
  CompileRequest request = request_of(inferred(kTwice));
  const std::vector<Tactic> tactics = tactics_with_wrong_softmax();
  request.backend.tactics = tactics;
  request.select.level = 0;
  const auto [plan, log] = build(std::move(request), {.regions = true});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed without cpu.softmax.wrong");
}

/// Sums that cancel: rounding to 16 bits moves them far.
constexpr const char* kCancelling = R"(graph "" (%0 "x": f32[64,32]) {
  %1 = constant() {value = f32[1]{300}} : f32[1]
  %2 "a" = mul "large"(%0, %1) : f32[64,32]
  %3 "b" = add "sum"(%2, %0) : f32[64,32]
  %4 "c" = softmax "keep1"(%3) {axes = [1]} : f32[64,32]
  %5 "d" = sub "difference"(%3, %2) : f32[64,32]
  %6 "e" = softmax "keep2"(%5) {axes = [1]} : f32[64,32]
  %7 "y" = add "last"(%5, %6) : f32[64,32]
  return %7, %4
})";

CompileRequest request_in_bf16(const char* text) {
  CompileRequest request = request_of(inferred(text));
  request.passes.precision = DataType::kBFloat16;
  // Values inside are stored, and so rounded.
  request.passes.disabled = {"fuse_pointwise", "fuse_epilogue"};
  return request;
}

TEST(SelfCheck, TakesNoPrecisionAwayWhereRoundingCostsAsMuch) {
  const auto [plan, log] = build(request_in_bf16(kCancelling));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_EQ(log, "");
  const std::string cost = plan->settings.at("self_check_cost");
  EXPECT_NE(cost.find("bf16 moves output 'y' by "), std::string::npos) << cost;
  EXPECT_NE(cost.find("; rounding alone by "), std::string::npos) << cost;
  bool computes_in_bf16 = false;
  for (const auto& node : plan->graph->nodes())
    computes_in_bf16 |= node->is<Pointwise>() && node->output()->type.type == DataType::kBFloat16;
  EXPECT_TRUE(computes_in_bf16);
}

TEST(SelfCheck, FindsAWrongPassThatRoundingHides) {
  // A part in a thousand: less than bf16 rounds.
  const auto nudge = [](Graph& graph, PassContext& context) {
    for (const auto& node : graph.nodes()) {
      auto* constant = node->as<Constant>();
      if (constant == nullptr || constant->value.count() != 1 || !context.allows(*node)) continue;
      Tensor value(constant->value.type(), constant->value.extents());
      const double was = constant->value.as_double(0);
      value.set_from_double(0, was == 0.5 ? 0.505 : was);
      constant->value = std::move(value);
      if (was == 0.5) return true;
    }
    return false;
  };
  constexpr const char* kScaled = R"(graph "" (%0 "x": f32[64,32]) {
  %1 = constant() {value = f32[1]{0.5}} : f32[1]
  %2 "a" = mul "half"(%0, %1) : f32[64,32]
  %3 "y" = softmax "last"(%2) {axes = [1]} : f32[64,32]
  return %3
})";
  CompileRequest request = request_in_bf16(kScaled);
  request.passes.extra.push_back({"nudge", 1, "a mistake", nudge});
  const auto [plan, log] = build(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->settings.at("self_check").starts_with("passed without nudge"))
      << plan->settings.at("self_check") << log;
}

TEST(SelfCheck, FindsOneWrongElementInTenThousand) {
  constexpr const char* kWide = R"(graph "" (%0 "x": f32[100,100]) {
  %1 "p" = softmax "softmax1"(%0) {axes = [1]} : f32[100,100]
  %2 "y" = softmax "softmax2"(%1) {axes = [1]} : f32[100,100]
  return %2
})";
  for (const bool narrow : {false, true}) {
    CompileRequest request = request_in_bf16(kWide);
    if (!narrow) request.passes.precision.reset();
    const std::vector<Tactic> tactics = tactics_with_one_wrong_element();
    request.backend.tactics = tactics;
    request.select.level = 0;
    const auto [plan, log] = build(std::move(request));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->settings.at("self_check"), "passed without cpu.softmax.wrong");
    EXPECT_NE(log.find("kernel cpu.softmax.wrong: "), std::string::npos) << log;
  }
}

/// What time sufficed for differs from build to build: plans of the same build are the same bytes.
TEST(SelfCheck, PlansHoldNothingThatTimeDecided) {
  std::string text = kCancelling;
  text.replace(text.find("300"), 3, "4");
  const auto [plan, log] = build(request_in_bf16(text.c_str()));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->settings.at("self_check"), "passed");
  EXPECT_FALSE(plan->settings.contains("self_check_regions"));
  EXPECT_FALSE(plan->settings.contains("self_check_open"));
  const std::string cost = plan->settings.at("self_check_cost");
  EXPECT_EQ(cost.find("rounding alone"), std::string::npos) << cost;
}

TEST(SelfCheck, SaysWhatItCompared) {
  const auto [plan, log] = build(request_of(graph_of_text()), {.regions = true});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::string regions = plan->settings.at("self_check_regions");
  const size_t of = regions.find(" of ");
  ASSERT_NE(of, std::string::npos) << regions;
  EXPECT_EQ(regions.substr(0, of), regions.substr(of + 4));
  EXPECT_NE(regions.substr(0, of), "0");
  EXPECT_FALSE(plan->settings.contains("self_check_open"));
}

}  // namespace
}  // namespace tenon
