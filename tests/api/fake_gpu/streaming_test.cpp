// Weight streaming on a GPU whose driver only pretends: memory, copies and their order.
#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "fake_driver.h"
#include "harness.h"
#include "recorder.h"
#include "tenon/device.h"

namespace api_test {
namespace {

constexpr int kLayers = 6;
constexpr int64_t kWidth = 256, kWeightBytes = kWidth * kWidth * 4;

/// Counts the bytes that are out.
class Counted final : public IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override {
    const std::lock_guard lock(mutex_);
    void* memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
    sizes_[memory] = size;
    bytes += size;
    return std::memset(memory, 0, size);
  }
  bool deallocate(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    bytes -= sizes_[memory];
    std::free(memory);
    return true;
  }
  uint64_t bytes = 0;

 private:
  std::mutex mutex_;
  std::map<void*, uint64_t> sizes_;
};

/// Six products with softmax between; layer i's weights are all i + 1.
struct Chain : Session {
  explicit Chain(bool refits = false)
      : Session(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)) {
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
    ITensor* x = input("x", DataType::kFLOAT, {8, kWidth});
    for (int i = 0; i < kLayers; ++i) {
      const Weights w = weights(std::vector<float>(kWidth * kWidth, static_cast<float>(i + 1)));
      network->setWeightsName(w, ("w" + std::to_string(i)).c_str());
      ITensor* constant = network->addConstant(dims({kWidth, kWidth}), w)->getOutput(0);
      x = network->addMatrixMultiply(*x, MatrixOperation::kNONE, *constant, MatrixOperation::kNONE)
              ->getOutput(0);
      ISoftMaxLayer* soft = network->addSoftMax(*x);
      soft->setAxes(2);
      x = soft->getOutput(0);
    }
    output(x, "y");
    config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
    if (refits) config->setFlag(BuilderFlag::kREFIT);
    config->setBuilderOptimizationLevel(1);
    build_for_fake_gpu(*config);
  }
};

/// A plan that is loaded without a context.
struct Engine {
  explicit Engine(const IHostMemory& plan, IGpuAllocator* allocator = nullptr)
      : runtime(createInferRuntime(log)) {
    runtime->setErrorRecorder(&recorder);
    if (allocator != nullptr) runtime->setGpuAllocator(allocator);
    engine.reset(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  }
  bool make_context() {
    context.reset(engine->createExecutionContext());
    return context != nullptr && context->setTensorAddress("x", x.data()) &&
           context->setTensorAddress("y", y.data());
  }
  bool run(void* stream = nullptr) { return context->enqueueV3(static_cast<cudaStream_t>(stream)); }
  Log log;
  Recorder recorder;
  std::vector<float> x = std::vector<float>(8 * kWidth), y = std::vector<float>(8 * kWidth);
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
};

class Streaming : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Chain chain;
    plan_.reset(chain.builder->buildSerializedNetwork(*chain.network, *chain.config));
    log_ = chain.log.text();
  }
  static void TearDownTestSuite() { plan_.reset(); }
  void SetUp() override {
    if (plan_ == nullptr && log_.find("nvrtc") != std::string::npos) GTEST_SKIP() << log_;
    ASSERT_NE(plan_, nullptr) << log_;
    driver_.work();
  }
  int calls(const char* function) const { return driver_.calls(function); }

  const FakeDriver driver_;
  static inline std::unique_ptr<IHostMemory> plan_;
  static inline std::string log_;
};

TEST_F(Streaming, TheBudgetBoundsTheMemoryOfWeights) {
  std::map<int64_t, uint64_t> taken;
  for (const int64_t resident : {6, 4, 3, 0}) {
    Counted memory;
    Engine loaded(*plan_, &memory);
    ASSERT_NE(loaded.engine, nullptr) << loaded.log.text();
    ASSERT_EQ(loaded.engine->getStreamableWeightsSize(), kLayers * kWeightBytes);
    const int64_t budget = resident * kWeightBytes;
    ASSERT_TRUE(loaded.engine->setWeightStreamingBudgetV2(budget)) << loaded.log.text();
    EXPECT_EQ(loaded.engine->getWeightStreamingBudgetV2(), budget);
    const int64_t scratch = loaded.engine->getWeightStreamingScratchMemorySize();
    // Two at a time: one is read, the next one arrives.
    EXPECT_EQ(scratch, std::min<int64_t>(kLayers - resident, 2) * kWeightBytes) << resident;
    EXPECT_GE(loaded.engine->getDeviceMemorySizeV2(), scratch);
    ASSERT_TRUE(loaded.make_context() && loaded.run()) << loaded.log.text();
    EXPECT_TRUE(loaded.log.warnings.empty()) << loaded.log.text();
    taken[resident] = memory.bytes;
    EXPECT_LE(memory.bytes, static_cast<uint64_t>(budget + scratch) + 65536) << resident;
    EXPECT_GE(memory.bytes, static_cast<uint64_t>(budget + scratch)) << resident;
    loaded.context.reset();
    loaded.engine.reset();
    EXPECT_EQ(memory.bytes, 0U);
  }
  // At 4 the two that arrive in turn take what the two that are streamed gave.
  EXPECT_LT(taken[3], taken[6]);
  EXPECT_LT(taken[0], taken[3]);
}

TEST_F(Streaming, CopiesRunAheadOfTheirLayerOnAStreamOfTheirOwn) {
  Engine loaded(*plan_);
  ASSERT_TRUE(loaded.engine->setWeightStreamingBudgetV2(0));
  ASSERT_TRUE(loaded.make_context() && loaded.run()) << loaded.log.text();
  int stream = 0;
  driver_.work();
  ASSERT_TRUE(loaded.run(&stream)) << loaded.log.text();
  std::string order = driver_.order();
  EXPECT_EQ(calls(FUNCTION_TEXT(cuMemcpyAsync)), kLayers) << order;
  EXPECT_EQ(calls(FUNCTION_TEXT(cuMemAlloc)), 0);
  EXPECT_EQ(calls(FUNCTION_TEXT(cuStreamSynchronize)), 0);
  // Two copies before the first layer; each further one waits for a layer to be done with.
  EXPECT_EQ(order.find("record 0\nwait 1\ncopy 1\nrecord 1\ncopy 1\nrecord 1\nwait 0\nkernel 0\n"),
            0U)
      << order;
  EXPECT_NE(order.find("record 0\nwait 1\ncopy 1\nrecord 1\nkernel 0\nwait 0\nkernel 0\n"),
            std::string::npos)
      << order;
  EXPECT_GT(order.rfind("wait 0"), order.rfind("copy 1")) << "nothing is left on the other stream";
}

TEST_F(Streaming, WeightsArriveInTheContextsMemory) {
  Engine loaded(*plan_);
  ASSERT_TRUE(loaded.engine->setWeightStreamingBudgetV2(0));
  loaded.context.reset(loaded.engine->createExecutionContextWithoutDeviceMemory());
  const int64_t size = loaded.engine->getDeviceMemorySizeV2();
  const std::unique_ptr<float, decltype(&std::free)> memory(
      static_cast<float*>(std::aligned_alloc(256, (size + 255) / 256 * 256)), std::free);
  std::memset(memory.get(), 0, size);
  loaded.context->setDeviceMemoryV2(memory.get(), size);
  ASSERT_TRUE(loaded.context->setTensorAddress("x", loaded.x.data()) &&
              loaded.context->setTensorAddress("y", loaded.y.data()) && loaded.run())
      << loaded.log.text();
  // Of the last two layers, since each took the place of the one before the last.
  for (const float layer : {kLayers - 1.0F, kLayers + 0.0F})
    EXPECT_GE(std::count(memory.get(), memory.get() + size / 4, layer), kWidth * kWidth) << layer;
}

TEST_F(Streaming, WeightsThatKernelsReorderAreStreamedToo) {
  constexpr int64_t kChannels = 128;
  Session session(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  ITensor* x = session.input("x", DataType::kFLOAT, {1, kChannels, 4, 4});
  for (const float weight : {0.1F, 0.2F}) {
    const Weights weights = session.weights(std::vector<float>(kChannels * kChannels * 9, weight));
    IConvolutionLayer* conv =
        session.network->addConvolutionNd(*x, kChannels, dims({3, 3}), weights, Weights{});
    conv->setPaddingNd(dims({1, 1}));
    x = conv->getOutput(0);
  }
  session.output(x, "y");
  session.config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  session.config->setBuilderOptimizationLevel(1);
  build_for_fake_gpu(*session.config);
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  ASSERT_NE(plan, nullptr) << session.log.text();
  std::map<int64_t, int> nulls;
  for (const int64_t budget : {INT64_C(0), INT64_MAX}) {
    Engine loaded(*plan);
    ASSERT_TRUE(loaded.engine->setWeightStreamingBudgetV2(budget));
    ASSERT_TRUE(loaded.make_context() && loaded.run()) << loaded.log.text();
    driver_.work();
    ASSERT_TRUE(loaded.run()) << loaded.log.text();
    EXPECT_EQ(calls(FUNCTION_TEXT(cuMemcpyAsync)), budget == 0 ? 2 : 0) << driver_.order();
    nulls[budget] = calls("null in a launch");
  }
  EXPECT_EQ(nulls[0], nulls[INT64_MAX]) << "kernels read their weights where they arrive";
}

TEST_F(Streaming, BudgetsAreRefusedWhileThereAreContexts) {
  Engine loaded(*plan_);
  ASSERT_TRUE(loaded.make_context());
  EXPECT_FALSE(loaded.engine->setWeightStreamingBudgetV2(kWeightBytes));
  EXPECT_TRUE(loaded.log.complained("while no context exists")) << loaded.log.text();
  EXPECT_EQ(loaded.recorder.getNbErrors(), 1);
  EXPECT_EQ(loaded.engine->getWeightStreamingBudgetV2(), kLayers * kWeightBytes);
  loaded.context.reset();
  EXPECT_TRUE(loaded.engine->setWeightStreamingBudgetV2(kWeightBytes));
  ASSERT_TRUE(loaded.make_context() && loaded.run()) << loaded.log.text();
}

TEST_F(Streaming, TheAutomaticBudgetIsOfFreeMemory) {
  Engine loaded(*plan_);
  EXPECT_EQ(loaded.engine->getWeightStreamingAutomaticBudget(), kLayers * kWeightBytes);
  const int64_t need = loaded.engine->getDeviceMemorySizeV2();
  driver_.leave_free(static_cast<size_t>(need + 4 * kWeightBytes));
  const int64_t budget = loaded.engine->getWeightStreamingAutomaticBudget();
  driver_.leave_free(0);
  EXPECT_GE(budget, kWeightBytes);
  EXPECT_LE(budget, 4 * kWeightBytes);
  EXPECT_EQ(loaded.engine->getWeightStreamingBudgetV2(), kLayers * kWeightBytes) << "only asked";
}

TEST_F(Streaming, ContextsCopyForThemselves) {
  Engine loaded(*plan_);
  ASSERT_TRUE(loaded.engine->setWeightStreamingBudgetV2(3 * kWeightBytes));
  ASSERT_TRUE(loaded.make_context());
  const std::unique_ptr<IExecutionContext> second(loaded.engine->createExecutionContext());
  ASSERT_TRUE(second != nullptr && second->setTensorAddress("x", loaded.x.data()) &&
              second->setTensorAddress("y", loaded.y.data()));
  driver_.work();
  int one = 0, other = 0;
  ASSERT_TRUE(loaded.run(&one) && second->enqueueV3(reinterpret_cast<cudaStream_t>(&other)))
      << loaded.log.text();
  EXPECT_EQ(calls(FUNCTION_TEXT(cuMemcpyAsync)), 2 * 3);
  EXPECT_GT(driver_.launches(&one), 0);
  EXPECT_EQ(driver_.launches(&one), driver_.launches(&other));
}

TEST_F(Streaming, RunsAreCapturedAndReplayed) {
  Engine loaded(*plan_);
  ASSERT_TRUE(loaded.engine->setWeightStreamingBudgetV2(kWeightBytes));
  ASSERT_TRUE(loaded.make_context());
  int stream = 0;
  driver_.work();
  driver_.capture(true);
  EXPECT_TRUE(loaded.run(&stream)) << loaded.log.text();
  driver_.capture(false);
  EXPECT_FALSE(driver_.invalidated());
  ASSERT_TRUE(tenon::setGraphReplay(*loaded.context, true));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loaded.run(&stream)) << loaded.log.text();
}

TEST_F(Streaming, SurvivesEveryFailure) {
  const auto work = [&](Log& log) {
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan_->data(), plan_->size()));
    if (engine == nullptr || !engine->setWeightStreamingBudgetV2(3 * kWeightBytes)) return false;
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    std::vector<float> x(8 * kWidth), y(8 * kWidth);
    return context != nullptr && context->setTensorAddress("x", x.data()) &&
           context->setTensorAddress("y", y.data()) && context->enqueueV3(nullptr);
  };
  Log quiet;
  ASSERT_TRUE(work(quiet)) << quiet.text();
  const int before = driver_.living();
  for (const char* function :
       {FUNCTION_TEXT(cuMemAlloc), FUNCTION_TEXT(cuMemHostAlloc), FUNCTION_TEXT(cuMemcpyAsync),
        FUNCTION_TEXT(cuStreamCreate), FUNCTION_TEXT(cuEventCreate), FUNCTION_TEXT(cuEventRecord),
        FUNCTION_TEXT(cuStreamWaitEvent), FUNCTION_TEXT(cuStreamSynchronize)})
    for (int at = 0; at < 64; ++at) {
      Log log;
      driver_.fail(function, at, CUDA_ERROR_OUT_OF_MEMORY);
      const bool worked = work(log);
      const bool reached = driver_.failed();
      driver_.work();
      EXPECT_EQ(driver_.living(), before) << function << ", call " << at << " left something";
      if (!reached) break;
      EXPECT_FALSE(worked) << function << ", call " << at << " went unnoticed";
      EXPECT_EQ(log.errors.size(), 1U) << function << ", call " << at << ":\n" << log.text();
    }
}

TEST_F(Streaming, RefittedWeightsAreStreamed) {
  Chain chain(true);
  ASSERT_TRUE(chain.build()) << chain.log.text();
  chain.context.reset();
  ASSERT_TRUE(chain.engine->setWeightStreamingBudgetV2(0)) << chain.log.text();
  const std::unique_ptr<IExecutionContext> context(
      chain.engine->createExecutionContextWithoutDeviceMemory());
  const int64_t size = chain.engine->getDeviceMemorySizeV2();
  const std::unique_ptr<float, decltype(&std::free)> memory(
      static_cast<float*>(std::aligned_alloc(256, (size + 255) / 256 * 256)), std::free);
  std::vector<float> x(8 * kWidth), y(8 * kWidth);
  context->setDeviceMemoryV2(memory.get(), size);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << chain.log.text();
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(*chain.engine, chain.log));
  const std::vector<float> fresh(kWidth * kWidth, 77.0F);
  ASSERT_TRUE(refitter->setNamedWeights("w5", {DataType::kFLOAT, fresh.data(), kWidth * kWidth}));
  ASSERT_TRUE(refitter->refitCudaEngine()) << chain.log.text();
  ASSERT_TRUE(context->enqueueV3(nullptr)) << chain.log.text();
  EXPECT_GE(std::count(memory.get(), memory.get() + size / 4, 77.0F), kWidth * kWidth);
}

}  // namespace
}  // namespace api_test
