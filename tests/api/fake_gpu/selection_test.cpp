// Kernels that builds for a GPU try and time under limits, over a driver that only pretends.
#include <cuda.h>

#include <functional>
#include <memory>

#include "fake_driver.h"
#include "harness.h"
#include "tenon/inspect.h"
#include "tenon/self_check.h"

namespace api_test {
namespace {

/// The record of one build.
struct Effort {
  int timed = 0;     ///< Candidates, of all layers; how often each is depends on the order.
  int launches = 0;  ///< Of kernels, in graphs that tell the time of several.
};

/// Layers of the engine, with their tactics.
std::string layers_of(ICudaEngine& engine) {
  const std::unique_ptr<IEngineInspector> inspector(engine.createEngineInspector());
  return inspector->getEngineInformation(LayerInformationFormat::kJSON);
}

/// Kernels of a plan with recorded candidates that have a time.
int timed_candidates(const IHostMemory& plan, ILogger& logger) {
  const std::unique_ptr<IHostMemory> text(tenon::describePlan(plan.data(), plan.size(), logger));
  if (text == nullptr) return -1;
  const std::string_view all(static_cast<const char*>(text->data()), text->size());
  int count = 0;
  for (size_t at = all.find("\"ms\":"); at != std::string_view::npos;
       at = all.find("\"ms\":", at + 1))
    ++count;
  return count;
}

class GpuSelection : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    driver_ = new FakeDriver();
  }

  void SetUp() override {
    Log log;
    const std::unique_ptr<tenon::IGpu> gpu(tenon::openGpu(0, log));
    ASSERT_NE(gpu, nullptr) << log.text();
    if (std::string(gpu->describe().libraries).find("nvrtc none") != std::string::npos)
      GTEST_SKIP() << "no run-time compiler";
  }

  /// Builds two convolutions with weights of their own.
  static Effort effort_of(const std::function<void(IBuilderConfig&)>& configure) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {1, 64, 32, 32});
    for (const int64_t filters : {64, 96})
      x = session.network
              ->addConvolutionNd(
                  *x, filters, dims({3, 3}),
                  session.weights(std::vector<float>(static_cast<size_t>(filters * 64 * 9), 0.01F)),
                  Weights{})
              ->getOutput(0);
    session.output(x, "y");
    session.config->setFlag(BuilderFlag::kFP16);
    build_for_fake_gpu(*session.config);
    tenon::recordCandidates(*session.config, true);
    configure(*session.config);
    driver_->work();
    driver_->make_noise(1);  // No two candidates take the same time.
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    driver_->make_noise(0);
    if (plan == nullptr) ADD_FAILURE() << session.log.text();
    if (plan == nullptr) return {};
    return {timed_candidates(*plan, session.log), driver_->calls("kernel in a graph")};
  }
  static Effort at_level(int level) {
    return effort_of([&](IBuilderConfig& config) { config.setBuilderOptimizationLevel(level); });
  }

  static inline FakeDriver* driver_ = nullptr;
};

TEST_F(GpuSelection, HigherLevelsTryMore) {
  EXPECT_EQ(at_level(0).timed, 0);
  int before = 0;
  for (const int level : {1, 3, 4}) {
    const int timed = at_level(level).timed;
    EXPECT_GT(timed, before) << level;
    before = timed;
  }
  EXPECT_GE(at_level(5).timed, before);
}

TEST_F(GpuSelection, TheNumberOfTacticsIsLimited) {
  const auto timed = [](int most) {
    return effort_of([&](IBuilderConfig& config) {
             config.setMaxNbTactics(most);
             config.setBuilderOptimizationLevel(2);
           })
        .timed;
  };
  EXPECT_EQ(timed(1), 0);
  EXPECT_GT(timed(2), 0);
  EXPECT_GT(timed(-1), timed(2));
}

/// Products that the plan of these sources has, by the kernels' names.
std::string products_by(TacticSources sources) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {64, 64});
  session.output(
      session.network
          ->addMatrixMultiply(*x, MatrixOperation::kNONE,
                              *session.constant({64, 64}, std::vector<float>(64 * 64, 0.5F)),
                              MatrixOperation::kNONE)
          ->getOutput(0),
      "y");
  session.config->setFlag(BuilderFlag::kFP16);
  session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  session.config->setBuilderOptimizationLevel(0);
  session.config->setTacticSources(sources);
  tenon::setBuildDevice(*session.config, 0);
  tenon::setSelfCheck(*session.config, false);  // Kernels do nothing.
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  if (plan == nullptr) ADD_FAILURE() << session.log.text();
  if (plan == nullptr) return "";
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(session.log));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) ADD_FAILURE() << session.log.text();
  return engine == nullptr ? "" : layers_of(*engine);
}

TEST_F(GpuSelection, SourcesThatAreLeftOutGiveNoKernels) {
  driver_->work();
  const auto bit = [](TacticSource source) { return 1U << static_cast<uint32_t>(source); };
  EXPECT_EQ(products_by(bit(TacticSource::kCUBLAS)).find("cuda.gemm.lt"), std::string::npos);
  EXPECT_NE(products_by(bit(TacticSource::kCUBLAS)).find("cuda.gemm."), std::string::npos);
  EXPECT_NE(products_by(bit(TacticSource::kCUBLAS_LT)).find("cuda.gemm.lt"), std::string::npos);
}

TEST_F(GpuSelection, IterationsAreAveragedAsOftenAsIsWanted) {
  const auto kernels = [](int iterations) {
    return effort_of([&](IBuilderConfig& config) {
             config.setMaxNbTactics(2);
             config.setAvgTimingIterations(iterations);
             config.setBuilderOptimizationLevel(2);
           })
        .launches;
  };
  EXPECT_GT(kernels(200), kernels(1) + 2 * 100);
}

TEST_F(GpuSelection, EachLayerComputesInTheTypeThatIsWantedOfIt) {
  const auto layers = [](bool obey, std::vector<std::string>& warnings) {
    Session session;
    ITensor* value = session.input("x", DataType::kFLOAT, {64, 64});
    for (const DataType type : {DataType::kHALF, DataType::kBF16, DataType::kFLOAT}) {
      auto* layer = session.network->addMatrixMultiply(
          *value, MatrixOperation::kNONE,
          *session.constant({64, 64}, std::vector<float>(64 * 64, 0.5F)), MatrixOperation::kNONE);
      layer->setPrecision(type);
      value = layer->getOutput(0);
    }
    ITopKLayer* top = session.network->addTopK(*value, TopKOperation::kMAX, 1, 2);
    top->setPrecision(DataType::kHALF);
    session.output(top->getOutput(0), "y");
    session.config->setFlag(BuilderFlag::kFP16);
    session.config->setFlag(BuilderFlag::kBF16);
    if (obey) session.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    session.config->setBuilderOptimizationLevel(1);
    build_for_fake_gpu(*session.config);
    EXPECT_TRUE(session.build()) << session.log.text();
    warnings = session.log.warnings;
    return layers_of(*session.engine);
  };
  std::vector<std::string> warnings;
  const std::string free = layers(false, warnings);
  EXPECT_EQ(free.find("BFloat16"), std::string::npos) << free;
  EXPECT_TRUE(warnings.empty());
  const std::string obeyed = layers(true, warnings);
  EXPECT_NE(obeyed.find("BFloat16"), std::string::npos) << obeyed;
  // Where there is no kernel for it, that is said.
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("TopK"), std::string::npos) << warnings[0];
}

TEST_F(GpuSelection, ALimitOfSharedMemoryHolds) {
  constexpr size_t kDevice = 166912, kLimit = 20 << 10, kKeptByDriver = 1024;
  const auto most_of = [](size_t limit, int more, std::string& layers) {
    Session session;
    ITensor* x = session.input("x", DataType::kHALF, {1, 64, 32, 32});
    const Weights weights = session.weights(std::vector<float>(64 * 64 * 9, 0.01F));
    session.output(
        session.network->addConvolutionNd(*x, 64, dims({3, 3}), weights, Weights{})->getOutput(0),
        "y");
    session.config->setFlag(BuilderFlag::kFP16);
    session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    session.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY, limit);
    build_for_fake_gpu(*session.config);
    driver_->shared(more);
    EXPECT_TRUE(session.build()) << session.log.text();
    std::vector<float> in(64 * 32 * 32), out(64 * 32 * 32);
    EXPECT_TRUE(session.context->setTensorAddress("x", in.data()) &&
                session.context->setTensorAddress("y", out.data()) &&
                session.context->enqueueV3(nullptr))
        << session.log.text();
    layers = layers_of(*session.engine);
    return driver_->shared();
  };
  std::string layers;
  EXPECT_GT(most_of(kDevice, 0, layers), kLimit);
  const unsigned most = most_of(kLimit, 0, layers);
  EXPECT_LE(most, kLimit - kKeptByDriver);
  EXPECT_EQ(layers.find("cuda.reference"), std::string::npos) << layers;
  // A kernel's static shared memory counts too.
  most_of(kLimit, kLimit, layers);
  EXPECT_NE(layers.find("cuda.reference"), std::string::npos) << layers;
}

TEST_F(GpuSelection, WithATimingCachePlansAreTheSameByteForByte) {
  std::unique_ptr<ITimingCache> cache;
  const auto plan_of_chance = [&](unsigned seed) {
    Session session;
    ITensor* x = session.input("x", DataType::kHALF, {1, 64, 32, 32});
    for (const int64_t filters : {64, 96}) {
      const std::vector<float> values(static_cast<size_t>(filters * 64 * 9), 0.01F);
      x = session.network
              ->addConvolutionNd(*x, filters, dims({3, 3}), session.weights(values), Weights{})
              ->getOutput(0);
      if (filters == 64)
        x = session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
    }
    session.output(x, "y");
    session.config->setFlag(BuilderFlag::kFP16);
    build_for_fake_gpu(*session.config);
    if (cache == nullptr) cache.reset(session.config->createTimingCache(nullptr, 0));
    EXPECT_TRUE(session.config->setTimingCache(*cache, false));
    driver_->make_noise(seed);
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    EXPECT_NE(plan, nullptr) << session.log.text();
    driver_->make_noise(0);
    if (plan == nullptr) return std::string();
    return std::string(static_cast<const char*>(plan->data()), plan->size());
  };
  for (const unsigned seed : {1U, 2U, 3U}) {
    cache.reset();
    const std::string first = plan_of_chance(seed);
    EXPECT_EQ(first == plan_of_chance(seed + 10), true) << seed;
    EXPECT_EQ(first == plan_of_chance(seed + 20), true) << seed;
  }
}

}  // namespace
}  // namespace api_test
