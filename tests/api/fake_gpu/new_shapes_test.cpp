// Shapes that a plan was not built for in particular: what a run of one asks of the driver.
#include <cuda.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include "fake_driver.h"
#include "harness.h"

namespace api_test {
namespace {

constexpr int64_t kMostRows = 32;

/// Counts the shapes that programs were made for.
class ShapeLog final : public ILogger {
 public:
  explicit ShapeLog(Log& rest) : rest_(rest) {}
  void log(Severity severity, const char* message) noexcept override {
    if (std::string_view(message).find(" are new: ") != std::string_view::npos) ++made;
    rest_.log(severity, message);
  }
  std::atomic<int> made = 0;

 private:
  Log& rest_;
};

class GpuShapes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TENON_CACHE_DIR", cache_folder().c_str(), 1);
    driver_ = new FakeDriver();
  }

  void SetUp() override {
    driver_->work();
    const std::unique_ptr<tenon::IGpu> gpu(tenon::openGpu(0, log_));
    ASSERT_NE(gpu, nullptr) << log_.text();
    if (std::string(gpu->describe().libraries).find("nvrtc none") != std::string::npos)
      GTEST_SKIP() << "no run-time compiler";
    build();
  }

  /// A convolution whose weights are packed, and a softmax, of 1 to 32 images.
  void build(int level = 0) {
    Session session;
    ITensor* x = session.input("x", DataType::kHALF, {-1, 64, 8, 8});
    const Weights weights = session.weights(std::vector<float>(64 * 64 * 9, 0.01F));
    ITensor* y =
        session.network->addConvolutionNd(*x, 64, dims({3, 3}), weights, Weights{})->getOutput(0);
    ISoftMaxLayer* softmax = session.network->addSoftMax(*y);
    softmax->setAxes(1U << 3);
    session.output(softmax->getOutput(0), "y");
    session.config->setFlag(BuilderFlag::kFP16);
    session.config->setBuilderOptimizationLevel(level);
    build_for_fake_gpu(*session.config);
    session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    IOptimizationProfile* profile = session.builder->createOptimizationProfile();
    for (const auto& [which, rows] : {std::pair(OptProfileSelector::kMIN, int64_t{1}),
                                      std::pair(OptProfileSelector::kOPT, int64_t{8}),
                                      std::pair(OptProfileSelector::kMAX, kMostRows)})
      profile->setDimensions("x", which, dims({rows, 64, 8, 8}));
    session.config->addOptimizationProfile(profile);
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    ASSERT_NE(plan, nullptr) << session.log.text();
    runtime_.reset(createInferRuntime(shapes_));
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine_, nullptr) << log_.text();
    context_.reset(engine_->createExecutionContext());
    ASSERT_NE(context_, nullptr) << log_.text();
    ASSERT_TRUE(context_->setTensorAddress("x", x_.data()));
    ASSERT_TRUE(context_->setTensorAddress("y", y_.data()));
  }

  /// Each leaves a file in the cache folder.
  static int compiled_kernels() {
    int count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(cache_folder()))
      count += file.path().extension() == ".bin" ? 1 : 0;
    return count;
  }
  static std::string cache_folder() { return testing::TempDir() + "/fake_gpu_cache"; }

  bool run(int64_t rows) {
    return context_->setInputShape("x", dims({rows, 64, 8, 8})) && context_->enqueueV3(nullptr);
  }

  static inline FakeDriver* driver_ = nullptr;
  Log log_;
  ShapeLog shapes_{log_};
  std::unique_ptr<IRuntime> runtime_;
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IExecutionContext> context_;
  std::vector<float> x_ = std::vector<float>(kMostRows * 64 * 64),
                     y_ = std::vector<float>(kMostRows * 64 * 64);
};

TEST_F(GpuShapes, ThatAreNewNeedNoCodeMemoryOrWeights) {
  ASSERT_TRUE(run(kMostRows));  // The largest shape has the arena.
  const int compiled = compiled_kernels();
  driver_->work();
  for (const int64_t rows : {5, 7, 10, 11, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 25, 28, 31})
    ASSERT_TRUE(run(rows)) << log_.text();
  EXPECT_EQ(compiled_kernels(), compiled);
  EXPECT_GT(driver_->calls(FUNCTION_TEXT(cuLaunchKernelEx)), 0);
  for (const char* function : {FUNCTION_TEXT(cuModuleLoadData), FUNCTION_TEXT(cuMemAlloc),
                               FUNCTION_TEXT(cuMemcpyAsync), FUNCTION_TEXT(cuStreamSynchronize)})
    EXPECT_EQ(driver_->calls(function), 0) << function;
}

TEST_F(GpuShapes, HaveTheKernelsThatTheInspectorNames) {
  driver_->make_noise(1);  // No two candidates take the same time, so that shapes differ.
  build(1);
  driver_->make_noise(0);
  const std::unique_ptr<IEngineInspector> inspector(engine_->createEngineInspector());
  const auto layers = [&] {
    return std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON));
  };
  std::set<std::string> kernels;
  inspector->setExecutionContext(context_.get());
  for (const int64_t rows : {1, 8, 32}) {
    ASSERT_TRUE(context_->setInputShape("x", dims({rows, 64, 8, 8})));
    std::string text = layers(), names;
    for (size_t at = 0; (at = text.find("\"TacticName\"", at)) != std::string::npos; ++at)
      names += text.substr(at, text.find('\n', at) - at);
    EXPECT_FALSE(names.empty()) << text;
    kernels.insert(names);
  }
  EXPECT_GT(kernels.size(), 1u) << *kernels.begin();
}

TEST_F(GpuShapes, ThatWereMetAskForTheirLaunchesAlone) {
  for (int64_t rows = 1; rows <= kMostRows; ++rows) ASSERT_TRUE(run(rows));
  ASSERT_TRUE(run(7));
  driver_->work();
  ASSERT_TRUE(run(7));
  const int launches = driver_->calls(FUNCTION_TEXT(cuLaunchKernelEx));
  const int made = shapes_.made;
  EXPECT_GT(made, 0);
  driver_->work();
  for (int64_t rows = 1; rows <= kMostRows; ++rows) ASSERT_TRUE(run(rows));
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuLaunchKernelEx)), launches * kMostRows);
  EXPECT_EQ(shapes_.made, made) << "kernels were made again";
}

TEST_F(GpuShapes, InTurnAreReplayed) {
  ASSERT_TRUE(tenon::setGraphReplay(*context_, true));
  ASSERT_TRUE(run(kMostRows));  // The largest shape has the arena.
  const auto run_all = [&] {
    for (int64_t rows = 1; rows <= 12; ++rows) ASSERT_TRUE(run(rows));
  };
  run_all();
  run_all();
  driver_->work();
  run_all();
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuLaunchKernelEx)), 0);
  EXPECT_EQ(driver_->calls(FUNCTION_TEXT(cuGraphLaunch)), 12);
}

}  // namespace
}  // namespace api_test
