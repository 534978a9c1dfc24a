// Refitting on a GPU whose driver only pretends.
#include <cuda.h>

#include <memory>

#include "fake_driver.h"
#include "harness.h"

namespace api_test {
namespace {

/// y = x w + b, whose weights can be refitted; loaded, with a context.
struct Refittable : Session {
  Refittable() {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    ITensor* x = input("x", DataType::kFLOAT, {8, 64});
    const Weights w = weights(std::vector<float>(64 * 64, 0.5F));
    network->setWeightsName(w, "w");
    ITensor* product =
        network
            ->addMatrixMultiply(*x, MatrixOperation::kNONE,
                                *network->addConstant(dims({64, 64}), w)->getOutput(0),
                                MatrixOperation::kNONE)
            ->getOutput(0);
    ISoftMaxLayer* soft = network->addSoftMax(*product);
    soft->setAxes(2);
    output(soft->getOutput(0), "y");
    config->setFlag(BuilderFlag::kREFIT);
    config->setBuilderOptimizationLevel(1);
    build_for_fake_gpu(*config);
  }
  bool run() {
    return context->setTensorAddress("x", x_.data()) && context->setTensorAddress("y", y_.data()) &&
           context->enqueueV3(nullptr);
  }

 private:
  std::vector<float> x_ = std::vector<float>(8 * 64), y_ = std::vector<float>(8 * 64);
};

TEST(GpuRefit, TakesWeightsFromTheDevice) {
  Refittable session;
  ASSERT_TRUE(session.build() && session.run()) << session.log.text();
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(*session.engine, session.log));
  ASSERT_NE(refitter, nullptr) << session.log.text();
  // The pretended device's memory is the host's.
  auto values = std::make_unique<std::vector<float>>(64 * 64, 2.0F);
  const Weights given{DataType::kFLOAT, values->data(), 64 * 64};
  EXPECT_FALSE(refitter->setNamedWeights("none", given, TensorLocation::kDEVICE));
  EXPECT_TRUE(session.log.complained("no weights 'none'"));
  EXPECT_FALSE(refitter->setNamedWeights("w", {DataType::kFLOAT, nullptr, 64 * 64},
                                         TensorLocation::kDEVICE));
  EXPECT_TRUE(session.log.complained("weights 'w' are 4096 values"));
  EXPECT_FALSE(refitter->setNamedWeights("w", {DataType::kFLOAT, values->data(), INT64_MAX},
                                         TensorLocation::kDEVICE));
  EXPECT_TRUE(session.log.complained("weights 'w' are 4096 values"));
  ASSERT_TRUE(refitter->setNamedWeights("w", given, TensorLocation::kDEVICE)) << session.log.text();
  values.reset();
  const Weights kept = refitter->getNamedWeights("w");
  ASSERT_EQ(kept.count, 64 * 64);
  EXPECT_EQ(static_cast<const float*>(kept.values)[64 * 64 - 1], 2.0F);
  EXPECT_TRUE(refitter->refitCudaEngineAsync(nullptr)) << session.log.text();
  EXPECT_TRUE(session.run()) << session.log.text();
}

TEST(GpuRefit, SurvivesEveryFailure) {
  const FakeDriver driver;
  Refittable session;
  ASSERT_TRUE(session.build() && session.run()) << session.log.text();
  for (const char* function :
       {FUNCTION_TEXT(cuMemAlloc), FUNCTION_TEXT(cuMemcpyAsync), FUNCTION_TEXT(cuStreamSynchronize),
        FUNCTION_TEXT(cuModuleLoadData), FUNCTION_TEXT(cuModuleGetFunction)})
    for (int at = 0; at < 16; ++at) {
      const std::unique_ptr<IRefitter> refitter(createInferRefitter(*session.engine, session.log));
      const std::vector<float> values(64 * 64, static_cast<float>(at));
      ASSERT_TRUE(refitter->setNamedWeights("w", {DataType::kFLOAT, values.data(), 64 * 64}));
      driver.fail(function, at, CUDA_ERROR_OUT_OF_MEMORY);
      const bool worked = refitter->refitCudaEngineAsync(nullptr) && session.run();
      const bool reached = driver.failed();
      driver.work();
      EXPECT_EQ(session.log.errors.size(), worked ? 0U : 1U) << function << ", call " << at << ":\n"
                                                             << session.log.text();
      session.log.errors.clear();
      // Whatever happened, the engine runs, with the old weights or the new ones.
      EXPECT_TRUE(session.run()) << session.log.text();
      if (!reached) break;
    }
}

}  // namespace
}  // namespace api_test
