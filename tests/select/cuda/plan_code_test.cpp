// The device code in plans: which there is, that it survives the file, and the choice by shape. The
// GPU is described, so that code is compiled and nothing runs.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "device/cuda/compiler.h"
#include "device/cuda/nvrtc.h"
#include "device/described_device.h"
#include "ir/text.h"
#include "kernels/tactic.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"
#include "plan/points.h"
#include "runtime/graphs.h"
#include "select/collect_code.h"
#include "select/compile.h"

namespace tenon {
namespace {

constexpr char kFixed[] =
    "graph \"\" (%0 \"x\": f32[8,64]) {"
    " %1 = softmax(%0){axes = [1]} : f32[8,64]"
    " %2 = exp(%1) : f32[8,64]"
    " return %2}";
constexpr char kVarying[] =
    "graph \"\" (%0 \"x\": f32[b,64]) {"
    " %1 = softmax(%0){axes = [1]} : f32[b,64]"
    " %2 = exp(%1) : f32[b,64]"
    " return %2}";
const Profile kOneTo32 = {{"x", {{1, 64}, {8, 64}, {32, 64}}}};

/// A build for a GPU that is not there, by preference alone.
class PlanCode : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
    DeviceProperties properties;
    properties.kind = DeviceKind::kCuda;
    properties.name = "a GPU";
    properties.architecture = "sm_90";
    properties.compute_capability = 90;
    properties.compute_units = 132;
    backend_.device = std::make_shared<DescribedDevice>(properties);
    backend_.tactics = cuda_tactics();
    constants_ = std::make_unique<ConstantStore>(*backend_.device);
    backend_.constants = constants_.get();
  }

  Plan build(const char* network, std::vector<Profile> profiles = {}) {
    Plan plan = compiled(network, std::move(profiles), 0);
    NullLogger logger;
    EXPECT_TRUE(collect_code(plan, backend_, logger).ok());
    return plan;
  }

  /// Before the code of all its kernels is collected.
  Plan compiled(const char* network, std::vector<Profile> profiles, int level) {
    CompileRequest request;
    auto graph = parse_graph(network);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    request.graph = std::move(*graph);
    request.profiles = std::move(profiles);
    request.backend = backend_;
    request.opens_broadcasts = true;
    request.select.level = level;
    TimingCache cache;
    NullLogger logger;
    auto plan = compile(std::move(request), cache, logger);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    return std::move(plan).value();
  }

  Backend backend_;
  std::unique_ptr<ConstantStore> constants_;
};

std::map<std::string, std::string> codes_of(const Plan& plan) {
  std::map<std::string, std::string> codes;
  if (plan.code != nullptr)
    plan.code->for_each([&](const std::string& source, const CodeLibrary::Code& code) {
      codes[source] = code.text();
    });
  return codes;
}

TEST_F(PlanCode, IsThatOfEachKernelAndSurvivesTheFile) {
  const Plan plan = build(kFixed);
  const auto codes = codes_of(plan);
  ASSERT_GE(codes.size(), 1u);
  for (const auto& [source, code] : codes) EXPECT_EQ(code.substr(1, 3), "ELF") << source;
  const auto bytes = write_plan(plan);
  ASSERT_TRUE(bytes.ok());
  const auto loaded = read_plan(*bytes, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(codes_of(*loaded), codes);
  EXPECT_EQ(*write_plan(*loaded), *bytes);
  EXPECT_EQ(*write_plan(build(kFixed)), *bytes);
}

TEST_F(PlanCode, OfVaryingShapesIsThatOfTheEndsAndOneForTheRest) {
  const Plan plan = build(kVarying, {kOneTo32});
  EXPECT_EQ(plan_points(plan).size(), 6u);  // 8, 1, 32, 2, 4, 16.
  const size_t count = codes_of(plan).size();
  // Each kernel's code for three shapes and one or two for the others, not one for each of 29.
  EXPECT_GT(count, codes_of(build(kFixed)).size());
  EXPECT_LE(count, 5 * codes_of(build(kFixed)).size());
  // Collecting for any shape between adds nothing.
  auto library = std::make_shared<CodeLibrary>(*plan.code, CodeLibrary::Use::kCollectOpen);
  constants_->set_code(library);
  for (const int64_t batch : {3, 7, 12, 19, 31}) {
    const auto graph = ConcreteGraph::create(*plan.graph, {{"b", batch}});
    ASSERT_TRUE(graph.ok());
    for (const auto& node : plan.graph->nodes())
      EXPECT_TRUE(make_kernel(backend_, *node, graph->problem(*node, backend_, 1)).ok());
  }
  EXPECT_EQ(library->size(), plan.code->size());
}

/// So is that of broadcasts that the graph itself does not run.
TEST_F(PlanCode, IsThereForOpenBroadcasts) {
  const ShapeRange range{{1, 64}, {8, 64}, {32, 64}};
  const Plan plan = build(
      "graph \"\" (%0 \"x\": f32[n,64], %1 \"y\": f32[m,64]) {"
      " %2 = softmax(%0){axes = [1]} : f32[n,64]"
      " %3 = add(%2, %1) : f32[n,64]"
      " return %3}",
      {{{"x", range}, {"y", range}}});
  ASSERT_EQ(plan.forms.size(), 1u);
  auto library = std::make_shared<CodeLibrary>(*plan.code, CodeLibrary::Use::kCollectOpen);
  constants_->set_code(library);
  for (const auto& [n, m] : {std::pair<int64_t, int64_t>{1, 5}, {7, 1}, {1, 32}, {31, 1}}) {
    const auto graph = ConcreteGraph::create(*plan.forms[0], {{"n", n}, {"m", m}});
    ASSERT_TRUE(graph.ok());
    for (const auto& node : plan.forms[0]->nodes())
      if (!node->is<Constant>() && !node->is<Dims>() && !graph->is_view(*node)) {
        EXPECT_TRUE(make_kernel(backend_, *node, graph->problem(*node, backend_, 1)).ok());
      }
  }
  EXPECT_EQ(library->size(), plan.code->size());
}

/// A convolution's code for all extents is one, be its images large for the device's cache or not.
TEST_F(PlanCode, OfImagesThatGrowLargeIsOne) {
  constexpr int64_t kBytes = 2 * 32 * 56 * 56 * 2, kLarge = 16;  // Of an image and its result.
  DeviceProperties properties = backend_.device->properties();
  properties.cache_bytes = 6 * kLarge * kBytes;
  backend_.device = std::make_shared<DescribedDevice>(properties);
  const auto codes = [&](int64_t most) {
    Graph graph;
    graph.symbol_ranges["b"] = {1, most};
    Value* const x = graph.add_input("x", {DataType::kFloat16, {Dim::symbol("b"), 32, 56, 56}});
    Value* const y = tenon::conv(graph, x, Tensor(DataType::kFloat16, {32, 32, 1, 1}));
    Node& node = *y->producer();
    EXPECT_TRUE(infer_node(node).ok());
    for (Value* image : {x, y}) image->type.layout = Layout::kChannelsLast;
    const Tactic* const tactic = backend_.find("cuda.conv.hopper");
    auto library = std::make_shared<CodeLibrary>(CodeLibrary::Use::kCollectOpen);
    constants_->set_code(library);
    std::set<std::string> sources;
    for (const int64_t batch : {2, 5, 15, 16, 31}) {
      if (batch > most) continue;
      const auto concrete = ConcreteGraph::create(graph, {{"b", batch}});
      EXPECT_TRUE(concrete.ok());
      const auto kernel =
          tactic->create(concrete->problem(node, backend_, 1), "m=64,n=32,splits=1,each=1,moves=1");
      EXPECT_TRUE(kernel.ok()) << kernel.error().message;
      EXPECT_EQ(kernel.ok() && (*kernel)->walks(), batch >= kLarge);
    }
    library->for_each([&](const std::string& source, const auto&) { sources.insert(source); });
    return sources;
  };
  const auto growing = codes(31), small = codes(15);
  EXPECT_EQ(growing.size(), 1u);
  EXPECT_EQ(small.size(), 1u);
  EXPECT_NE(growing, small) << "code without walks";
}

/// The code of kernels that are chosen for some shapes is compiled while those for others are.
TEST_F(PlanCode, OfChosenKernelsIsCompiledMeanwhile) {
  Plan plan = compiled(kVarying, {kOneTo32}, 1);
  ASSERT_EQ(plan.choices.size(), 6u);
  const auto before = codes_of(plan);
  EXPECT_GE(before.size(), 6u);
  const int64_t compiled_before = cuda::compiler_work().compiled;
  NullLogger logger;
  ASSERT_TRUE(collect_code(plan, backend_, logger).ok());
  const auto all = codes_of(plan);
  for (const auto& [source, code] : before) {
    ASSERT_TRUE(all.contains(source));
    EXPECT_EQ(all.at(source), code);
  }
  EXPECT_LE(cuda::compiler_work().compiled - compiled_before, all.size() - before.size());
}

/// A library's kernel that takes anything and has no code of its own.
class LibraryKernel final : public Kernel {
 public:
  Status run(const LaunchArguments&) const override { return {}; }
};

TEST_F(PlanCode, OfLayersThatALibraryRunsIsThatOfTheirSubstitutes) {
  std::vector<Tactic> tactics(backend_.tactics.begin(), backend_.tactics.end());
  const Tactic library = {
      .name = "cuda.library",
      .device = DeviceKind::kCuda,
      .version = 1,
      .takes = [](const Problem&) { return Support{}; },
      .configs = single_config,
      .create = [](const Problem&, std::string_view) { return make_kernel<LibraryKernel>(); },
      .traits = {.origin = TacticOrigin::kCublasLt}};
  tactics.insert(tactics.begin(), library);
  const auto own = codes_of(build(kVarying, {kOneTo32}));
  backend_.tactics = tactics;
  const Plan plan = build(kVarying, {kOneTo32});
  for (const auto& node : plan.graph->nodes()) EXPECT_EQ(node->tactic, library.name);
  EXPECT_EQ(codes_of(plan), own);
}

TEST_F(PlanCode, ThatWasChangedIsRefused) {
  const Plan plan = build(kFixed);
  Plan changed = copy_of(plan);
  changed.profiles = plan.profiles;
  changed.code = std::make_shared<CodeLibrary>();
  plan.code->for_each([&](const std::string& source, CodeLibrary::Code code) {
    EXPECT_TRUE(changed.code->add(source, code));
    ++code.hash_low;
    EXPECT_FALSE(changed.code->add(source + "x", code));
  });
  auto bytes = write_plan(changed);
  ASSERT_TRUE(bytes.ok());
  // A byte of the code, with the file's checksum made right again.
  const std::string code = codes_of(plan).begin()->second;
  const auto at = std::search(bytes->begin(), bytes->end(), std::as_bytes(std::span(code)).begin(),
                              std::as_bytes(std::span(code)).end());
  ASSERT_NE(at, bytes->end());
  at[100] ^= std::byte{1};
  const PlanChecksum checksum = plan_checksum(*bytes);
  std::memcpy(bytes->data() + offsetof(PlanHeader, checksum), &checksum, sizeof checksum);
  const auto read = read_plan(*bytes, nullptr);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("does not match its checksum"), std::string::npos)
      << read.error().message;
}

TEST(NearestChoice, IsByRatioAndTheNextLargerOne) {
  const std::vector<Choice> choices = {
      {{{"b", 8}}}, {{{"b", 1}}}, {{{"b", 32}}}, {{{"b", 2}}}, {{{"b", 16}}}};
  const auto nearest = [&](int64_t batch) {
    return nearest_choice(choices, {{"b", batch}})->symbols.at("b");
  };
  EXPECT_EQ(nearest(1), 1);
  EXPECT_EQ(nearest(2), 2);
  EXPECT_EQ(nearest(3), 8);
  EXPECT_EQ(nearest(6), 8);
  EXPECT_EQ(nearest(9), 16) << "kernels that are good for 8 may take twice as long";
  EXPECT_EQ(nearest(24), 32);
  EXPECT_EQ(nearest(33), 32);
  EXPECT_EQ(nearest_choice({}, {{"b", 1}}), nullptr);
}

/// A little more than the usual shapes is not the largest ones.
TEST(NearestChoice, OfSeveralExtentsCountsASmallerOneAsADoubling) {
  const std::vector<Choice> choices = {{{{"b", 8}, {"s", 128}}},
                                       {{{"b", 32}, {"s", 512}}},
                                       {{{"b", 8}, {"s", 192}}},
                                       {{{"b", 16}, {"s", 128}}}};
  const auto nearest = [&](int64_t batch, int64_t length) {
    return *nearest_choice(choices, {{"b", batch}, {"s", length}});
  };
  EXPECT_EQ(nearest(8, 130).symbols, choices[2].symbols);
  EXPECT_EQ(nearest(12, 128).symbols, choices[3].symbols);
  EXPECT_EQ(nearest(9, 130).symbols, choices[2].symbols);
  EXPECT_EQ(nearest(30, 500).symbols, choices[1].symbols);
}

TEST_F(PlanCode, ChoicesSurviveTheFileAndTheirLayersExist) {
  Plan plan = build(kVarying, {kOneTo32});
  plan.choices = {{{{"b", 8}}, {}}, {{{"b", 1}}, {{0, "cuda.softmax.rows"}}}};
  const auto loaded = read_plan(*write_plan(plan), nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->choices.size(), 2u);
  EXPECT_EQ(loaded->choices[1].symbols, plan.choices[1].symbols);
  EXPECT_EQ(loaded->choices[1].tactics, plan.choices[1].tactics);
  plan.choices[1].tactics = {{99, "cuda.softmax.rows"}};
  const auto wrong = read_plan(*write_plan(plan), nullptr);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("names layer 99 of"), std::string::npos);
}

}  // namespace
}  // namespace tenon
