// The work that a query puts on each stream of a GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tools/api_logger.h"
#include "tools/inference.h"
#include "tools/runner.h"

namespace tenon::tools {
namespace {

/// Before the library looks for the driver.
const int kEnvironment = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

class FakeDriver {
 public:
  void forget() { call<void (*)(const char*, int, int)>("fake_driver_fail")(nullptr, -1, 0); }
  int calls(const char* function) {
    return call<int (*)(const char*)>("fake_driver_calls")(function);
  }
  std::string order() { return call<const char* (*)()>("fake_driver_order")(); }

 private:
  template <class Function> Function call(const char* name) {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_ = dlopen(FAKE_DRIVER "/libcuda.so.1", RTLD_NOW);
};

class GpuQueries : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/gpu_queries_cache").c_str(), 1);
    driver_ = new FakeDriver();
    console_ = new Console(Severity::kError);
    logger_ = new ApiLogger(*console_);
    const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(*logger_));
    const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
    nvinfer1::ITensor* x =
        network->addInput("x", nvinfer1::DataType::kFLOAT, nvinfer1::Dims{2, {4, 64}});
    nvinfer1::ITensor* y = network->addSoftMax(*x)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
    config->setTacticSources(0);  // Libraries look for a real driver.
    setBuildDevice(*config, 0);
    config->setBuilderOptimizationLevel(0);
    const std::unique_ptr<nvinfer1::IHostMemory> plan(
        builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return;
    runtime_.reset(nvinfer1::createInferRuntime(*logger_));
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
  }
  static void TearDownTestSuite() {
    engine_.reset();
    runtime_.reset();
  }
  void SetUp() override {
    if (engine_ == nullptr) GTEST_SKIP() << "no plan: there may be no run-time compiler";
    driver_->forget();
  }

  static std::unique_ptr<Runner> runner(const GpuSettings& settings) {
    auto made = make_gpu_runner(*engine_, {}, nvinfer1::ExecutionContextAllocationStrategy::kSTATIC,
                                settings, *console_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? std::move(*made) : nullptr;
  }
  /// The work that the second of two queries puts on streams.
  static std::string second_query(const GpuSettings& settings) {
    const auto queries = runner(settings);
    if (queries == nullptr) return "";
    const Clock clock;
    std::vector<QueryTimes> done;
    EXPECT_TRUE(queries->query(clock, done).ok());
    driver_->forget();
    EXPECT_TRUE(queries->query(clock, done).ok());
    return driver_->order();
  }

  static inline FakeDriver* driver_ = nullptr;
  static inline Console* console_ = nullptr;
  static inline ApiLogger* logger_ = nullptr;
  static inline std::unique_ptr<nvinfer1::IRuntime> runtime_;
  static inline std::unique_ptr<nvinfer1::ICudaEngine> engine_;
};

TEST_F(GpuQueries, CopiesRunOnStreamsOfTheirOwn) {
  EXPECT_EQ(second_query({}),
            "record 0\ncopy 0\nrecord 0\nwait 1\n"
            "record 1\nkernel 1\nrecord 1\nwait 2\n"
            "record 2\ncopy 2\nrecord 2\n");
}

TEST_F(GpuQueries, MayDoWithoutTransfers) {
  GpuSettings settings;
  settings.transfers = false;
  EXPECT_EQ(second_query(settings), "record 0\nkernel 0\nrecord 0\n");
}

TEST_F(GpuQueries, MayReplayAGraph) {
  GpuSettings settings;
  settings.transfers = false;
  settings.graph = true;
  EXPECT_EQ(second_query(settings), "record 0\ngraph 0\nrecord 0\n");
}

TEST_F(GpuQueries, OneIsEnqueuedWhileAnotherRuns) {
  const auto waits = [](bool overlap, int queries) {
    GpuSettings settings;
    settings.overlap = overlap;
    const auto runner = GpuQueries::runner(settings);
    const Clock clock;
    std::vector<QueryTimes> done;
    for (int i = 0; i < queries; ++i) EXPECT_TRUE(runner->query(clock, done).ok());
    return done.size();
  };
  EXPECT_EQ(waits(true, 2), 0u);
  EXPECT_EQ(waits(true, 3), 1u);
  EXPECT_EQ(waits(false, 2), 1u);
}

TEST_F(GpuQueries, ThreadsSleepUnlessTheyAreToSpin) {
  (void)runner({});
  EXPECT_GT(driver_->calls("blocking event"), 0);
  driver_->forget();
  GpuSettings settings;
  settings.spin_wait = true;
  (void)runner(settings);
  EXPECT_EQ(driver_->calls("blocking event"), 0);
}

TEST_F(GpuQueries, OneThreadServesAllStreamsInTurn) {
  std::vector<std::unique_ptr<Runner>> runners;
  GpuSettings settings;
  settings.transfers = false;
  for (int i = 0; i < 2; ++i) runners.push_back(runner(settings));
  driver_->forget();
  InferenceSettings run;
  run.iterations = 4;
  run.warm_up_ms = run.duration_ms = 0;
  const auto times = run_inference(runners, run, *console_);
  ASSERT_TRUE(times.ok()) << times.error().message;
  EXPECT_EQ(times->queries.count(), 8u);
  std::string kernels;
  const std::string order = driver_->order();
  for (size_t at = 0; (at = order.find("kernel ", at)) != std::string::npos; ++at)
    kernels += order[at + 7];
  ASSERT_EQ(kernels.size(), 8u);
  EXPECT_NE(kernels[0], kernels[1]);
  EXPECT_EQ(kernels.substr(2), kernels.substr(0, 6));
}

}  // namespace
}  // namespace tenon::tools
