// What builds for a GPU try and time under the settings that limit it, over a driver that only
// pretends.
#include <cuda.h>

#include <functional>
#include <memory>

#include "fake_driver.h"
#include "harness.h"
#include "tenon/self_check.h"

namespace api_test {
namespace {

/// What one build did.
struct Effort {
  int timed = 0;     ///< Candidates, each of which at least two events tell the time of.
  int launches = 0;  ///< Of kernels, in graphs that tell the time of several.
};

class GpuSelection : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    driver_ = new FakeDriver();
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
    session.config->setTacticSources(0);  // Libraries look for a real driver.
    tenon::setBuildDevice(*session.config, 0);
    tenon::setSelfCheck(*session.config, false);  // Kernels do nothing.
    configure(*session.config);
    driver_->work();
    driver_->make_noise(1);  // No two candidates take the same time.
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    driver_->make_noise(0);
    if (plan == nullptr) ADD_FAILURE() << session.log.text();
    return {driver_->calls(FUNCTION_TEXT(cuEventElapsedTime)), driver_->calls("kernel in a graph")};
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

}  // namespace
}  // namespace api_test
