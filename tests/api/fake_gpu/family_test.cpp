// One plan for all GPUs from compute capability 8.0 on (kAMPERE_PLUS), over a driver that only
// pretends, and refuses code for other GPUs than the one that it pretends to be.
#include <cuda.h>
#include <tenon/inspect.h>
#include <tenon/self_check.h>

#include <filesystem>
#include <memory>

#include "fake_driver.h"
#include "harness.h"

namespace api_test {
namespace {

namespace fs = std::filesystem;
using Level = HardwareCompatibilityLevel;

constexpr unsigned kSharedOfAll = 99 << 10;

/// Keeps what builds and loads tell.
class Told final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kINFO) text += std::string(message) + "\n";
  }
  bool has(const std::string& words) const { return text.find(words) != std::string::npos; }
  std::string text;
};

class Family : public testing::Test {
 protected:
  static void SetUpTestSuite() { driver_ = new FakeDriver(); }

  void SetUp() override {
    use_cache("build");
    become(80);
    driver_->work();
    Log log;
    const std::unique_ptr<tenon::IGpu> gpu(tenon::openGpu(0, log));
    ASSERT_NE(gpu, nullptr) << log.text();
    if (std::string(gpu->describe().libraries).find("nvrtc none") != std::string::npos)
      GTEST_SKIP() << "no run-time compiler";
  }
  void TearDown() override { become(80); }

  static void become(int capability) { driver_->become(capability); }
  static void use_cache(const std::string& name) {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/family_cache_" + name).c_str(), 1);
  }

  /// An image's convolutions, a product and a softmax, for 1 to 16 images.
  static void define(Session& session) {
    INetworkDefinition& network = *session.network;
    ITensor* x = session.input("x", DataType::kFLOAT, {-1, 64, 16, 16});
    session.profile("x", {1, 64, 16, 16}, {4, 64, 16, 16}, {16, 64, 16, 16});
    ITensor* image =
        network
            .addConvolutionNd(*x, 64, dims({3, 3}),
                              session.weights(std::vector<float>(64 * 64 * 9, 0.01F)), Weights{})
            ->getOutput(0);
    ITensor* means = network.addReduce(*image, ReduceOperation::kAVG, 12, false)->getOutput(0);
    ITensor* product =
        network
            .addMatrixMultiply(*means, MatrixOperation::kNONE,
                               *session.constant({64, 128}, std::vector<float>(64 * 128, 0.5F)),
                               MatrixOperation::kNONE)
            ->getOutput(0);
    session.output(network.addSoftMax(*product)->getOutput(0), "y");
    session.config->setFlag(BuilderFlag::kFP16);
    session.config->setBuilderOptimizationLevel(2);
    tenon::setBuildDevice(*session.config, 0);
    tenon::setSelfCheck(*session.config, false);  // Kernels do nothing.
  }

  static std::unique_ptr<IHostMemory> build(int capability, Level level, ILogger& logger) {
    become(capability);
    Session session;
    define(session);
    session.config->setHardwareCompatibilityLevel(level);
    // Libraries look for a real driver; for a family none may be asked.
    if (level != Level::kAMPERE_PLUS) session.config->setTacticSources(0);
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
    driver_->shared();
    return std::unique_ptr<IHostMemory>(
        builder->buildSerializedNetwork(*session.network, *session.config));
  }

  /// Loads the plan there and runs it in batches of one, 16, and five, which nothing was chosen
  /// for.
  static bool runs_on(int capability, const IHostMemory& plan, Told& told, Level level) {
    become(capability);
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(told));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (engine == nullptr) return false;
    EXPECT_EQ(engine->getHardwareCompatibilityLevel(), level);
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    if (context == nullptr) return false;
    std::vector<float> x(16 * 64 * 16 * 16, 1), y(16 * 128);
    for (const int64_t batch : {1, 16, 5})
      if (!context->setInputShape("x", dims({batch, 64, 16, 16})) ||
          !context->setTensorAddress("x", x.data()) || !context->setTensorAddress("y", y.data()) ||
          !context->enqueueV3(nullptr))
        return false;
    return true;
  }

  static size_t compiled_in(const std::string& cache) {
    const fs::path kernels = testing::TempDir() + "/family_cache_" + cache + "/kernels";
    if (!fs::exists(kernels)) return 0;
    return static_cast<size_t>(std::distance(fs::directory_iterator(kernels), {}));
  }

  static inline FakeDriver* driver_ = nullptr;
};

TEST_F(Family, OnePlanRunsOnAllGpusFromAmpereOn) {
  for (const int here : {80, 90}) {
    Told told;
    use_cache("build");
    const auto plan = build(here, Level::kAMPERE_PLUS, told);
    ASSERT_NE(plan, nullptr) << told.text;
    EXPECT_LE(driver_->shared(), kSharedOfAll);
    EXPECT_TRUE(told.has("compute capability 8.0 and later")) << told.text;
    for (const int there : {80, 86, 87, 89, 90, 100, 120}) {
      const std::string cache = std::to_string(here) + "_" + std::to_string(there);
      use_cache(cache);
      Told loading;
      EXPECT_TRUE(runs_on(there, *plan, loading, Level::kAMPERE_PLUS)) << there << loading.text;
      EXPECT_LE(driver_->shared(), kSharedOfAll) << there;
      EXPECT_EQ(loading.text, "") << there;
      EXPECT_EQ(compiled_in(cache), 0u) << there << ": the plan lacks code";
    }
  }
}

TEST_F(Family, PlansOfOneGpuDoNotRunOnOthers) {
  Told told;
  const auto plan = build(80, Level::kNONE, told);
  ASSERT_NE(plan, nullptr) << told.text;
  EXPECT_FALSE(told.has("Hardware compatibility"));
  Told loading;
  EXPECT_TRUE(runs_on(80, *plan, loading, Level::kNONE)) << loading.text;
  for (const int there : {86, 90}) {
    loading.text.clear();
    EXPECT_FALSE(runs_on(there, *plan, loading, Level::kNONE)) << there;
    EXPECT_TRUE(loading.has("built for 'sm_80' and this is")) << loading.text;
  }
}

TEST_F(Family, OlderGpusAreRefusedWithTheReason) {
  Told told;
  EXPECT_EQ(build(75, Level::kAMPERE_PLUS, told), nullptr);
  EXPECT_TRUE(told.has("compute capability 8.0 and later")) << told.text;
  const auto plan = build(90, Level::kAMPERE_PLUS, told);
  ASSERT_NE(plan, nullptr) << told.text;
  Told loading;
  EXPECT_FALSE(runs_on(75, *plan, loading, Level::kAMPERE_PLUS));
  EXPECT_TRUE(loading.has("'a GPU of a test' has 7.5")) << loading.text;
}

TEST_F(Family, BuildsTellWhatTheRangeCosts) {
  Told told;
  ASSERT_NE(build(90, Level::kAMPERE_PLUS, told), nullptr) << told.text;
  EXPECT_TRUE(told.has("Kernels that 9.0 has and others have not are left out: of ")) << told.text;
  EXPECT_FALSE(told.has("left out: of 0 layers")) << told.text;
  told.text.clear();
  ASSERT_NE(build(80, Level::kAMPERE_PLUS, told), nullptr) << told.text;
  EXPECT_TRUE(told.has("left out: of 0 layers")) << told.text;
}

TEST_F(Family, ThePlanNamesItsRangeAndNoKernelsOfOneGeneration) {
  Told told;
  const auto plan = build(90, Level::kAMPERE_PLUS, told);
  ASSERT_NE(plan, nullptr) << told.text;
  Log log;
  const std::unique_ptr<IHostMemory> described(
      tenon::describePlan(plan->data(), plan->size(), log));
  ASSERT_NE(described, nullptr) << log.text();
  const std::string text(static_cast<const char*>(described->data()), described->size());
  EXPECT_NE(text.find("GPUs of compute capability 8.0 and later"), std::string::npos) << text;
  EXPECT_NE(text.find("\"sm_80+\""), std::string::npos) << text;
  for (const char* kernel : {"cuda.gemm.hopper", "cuda.conv.hopper", ".lt", "cudnn"})
    EXPECT_EQ(text.find(kernel), std::string::npos) << text;
}

}  // namespace
}  // namespace api_test
