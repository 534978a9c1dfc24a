// Runs as profilers see them: ranges (NVTX), where to record (cudaProfilerStart), and the kernels
// that CUPTI tells of, over libraries that only pretend.
#include <cuda.h>
#include <tenon/report.h>
#include <tenon/self_check.h>

#include <memory>

#include "fake_driver.h"
#include "harness.h"

namespace api_test {
namespace {

/// Before NVTX is used first.
const int kInjection = setenv("NVTX_INJECTION64_PATH", FAKE_DRIVER "/libfake_profiler.so", 1);

/// y = softmax(x w), loaded, with a context.
struct TwoLayers : Session {
  TwoLayers() {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    ITensor* x = input("x", DataType::kFLOAT, {8, 64});
    ITensor* w = constant({64, 64}, std::vector<float>(64 * 64, 0.5F));
    IMatrixMultiplyLayer* product =
        network->addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE);
    product->setName("product");
    ISoftMaxLayer* soft = network->addSoftMax(*product->getOutput(0));
    soft->setAxes(2);
    soft->setName("soft");
    output(soft->getOutput(0), "y");
    config->setBuilderOptimizationLevel(1);
    build_for_fake_gpu(*config);
  }
  bool run() {
    return context->setTensorAddress("x", x_.data()) && context->setTensorAddress("y", y_.data()) &&
           context->enqueueV3(nullptr);
  }
  /// The ranges of a run.
  std::string ranges(ProfilingVerbosity verbosity) {
    void* profiler = dlopen(FAKE_DRIVER "/libfake_profiler.so", RTLD_NOW);
    const auto told = reinterpret_cast<const char* (*)()>(dlsym(profiler, "fake_profiler_ranges"));
    if (told == nullptr) return "no NVTX";
    context->setNvtxVerbosity(verbosity);
    told();
    EXPECT_TRUE(run()) << log.text();
    return told();
  }

 private:
  std::vector<float> x_ = std::vector<float>(8 * 64), y_ = std::vector<float>(8 * 64);
};

TEST(Profilers, SeeLayersAtThreeVerbosities) {
  TwoLayers session;
  ASSERT_TRUE(session.build()) << session.log.text();
  const std::string names = session.ranges(ProfilingVerbosity::kLAYER_NAMES_ONLY);
  if (names == "no NVTX") GTEST_SKIP() << "built without NVTX's headers";
  EXPECT_NE(names.find("{product}"), std::string::npos) << names;
  EXPECT_NE(names.find("{soft}"), std::string::npos) << names;
  const std::string all = session.ranges(ProfilingVerbosity::kDETAILED);
  EXPECT_NE(all.find("{soft, softmax, in: f32[8,64], out: f32[8,64], cuda."), std::string::npos)
      << all;
  EXPECT_EQ(session.ranges(ProfilingVerbosity::kNONE), "");
}

TEST(Profilers, AreToldWhereToRecord) {
  const FakeDriver driver;
  Log log;
  const std::unique_ptr<tenon::IGpu> device(tenon::openGpu(0, log));
  ASSERT_NE(device, nullptr) << log.text();
  driver.work();
  EXPECT_TRUE(device->profile(true));
  EXPECT_EQ(driver.calls("cuProfilerStart"), 1);
  EXPECT_EQ(driver.calls("cuProfilerStop"), 0);
  EXPECT_TRUE(device->profile(false));
  EXPECT_EQ(driver.calls("cuProfilerStop"), 1);
}

std::string text_of(IHostMemory* memory) {
  const std::unique_ptr<IHostMemory> owned(memory);
  return owned ? std::string(static_cast<const char*>(owned->data()), owned->size()) : "";
}

TEST(Profilers, KernelsAreReportedByLayer) {
  TwoLayers session;
  ASSERT_TRUE(session.build() && session.run()) << session.log.text();
  session.context->setNvtxVerbosity(ProfilingVerbosity::kNONE);
  const std::string text = text_of(tenon::getKernelReport(*session.context));
  EXPECT_NE(text.find(R"~("layer":"product","name":"scale(float*)","stream":7)~"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("layer":"soft")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("registers":128,"sharedBytes":3072)"), std::string::npos) << text;
  EXPECT_NE(text.find("administrators"), std::string::npos) << text;
  EXPECT_EQ(session.context->getNvtxVerbosity(), ProfilingVerbosity::kNONE);
  EXPECT_EQ(session.ranges(ProfilingVerbosity::kNONE), "");
}

TEST(Profilers, KernelsOfReplayedGraphsHaveAReason) {
  TwoLayers session;
  ASSERT_TRUE(session.build() && session.run()) << session.log.text();
  ASSERT_TRUE(tenon::setGraphReplay(*session.context, true));
  const std::string text = text_of(tenon::getKernelReport(*session.context));
  EXPECT_NE(text.find(R"("kernels":[],"reason":"launches are replayed)"), std::string::npos)
      << text;
}

TEST(Profilers, KernelsOfAFailingRunAreAnError) {
  const FakeDriver driver;
  TwoLayers session;
  ASSERT_TRUE(session.build() && session.run()) << session.log.text();
  driver.fail(FUNCTION_TEXT(cuLaunchKernelEx), 0, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(tenon::getKernelReport(*session.context), nullptr);
  EXPECT_FALSE(session.log.errors.empty());
  driver.work();
}

TEST(Profilers, KernelsOfTheCpuHaveAReason) {
  TwoLayers session;
  tenon::setBuildDevice(*session.config, tenon::kCpuDevice);
  ASSERT_TRUE(session.build() && session.run()) << session.log.text();
  const std::string text = text_of(tenon::getKernelReport(*session.context));
  EXPECT_NE(text.find("on GPUs alone"), std::string::npos) << text;
}

}  // namespace
}  // namespace api_test
