// One engine under 64 threads; objects made and freed ten thousand times; each allocation failing
// in turn.
#include <NvOnnxParser.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "../calls/world.h"
#include "allocations.h"
#include "failures.h"
#include "harness.h"

namespace reliability {
namespace {

using namespace nvinfer1;
using api_test::dims;

const std::vector<float>& weights() {
  static const std::vector<float> values = [] {
    std::vector<float> numbers(8 * 8 * 9);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13) * 0.01F;
    return numbers;
  }();
  return values;
}

Weights kernel() {
  return {DataType::kFLOAT, weights().data(), 8 * 8 * 9};
}

struct Builds {
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<IBuilderConfig> config;
};

/// y = softmax(relu(conv(x)) + x) over channels.
Builds network_of(ILogger& log) {
  Builds b;
  b.builder.reset(createInferBuilder(log));
  b.network.reset(b.builder->createNetworkV2(0));
  b.config.reset(b.builder->createBuilderConfig());
  b.builder->setMaxThreads(1);
  tenon::setBuildDevice(*b.config, tenon::kCpuDevice);
  b.config->setFlag(BuilderFlag::kREFIT);
  b.config->setBuilderOptimizationLevel(0);
  ITensor* x = b.network->addInput("x", DataType::kFLOAT, dims({1, 8, 6, 6}));
  auto* conv = b.network->addConvolutionNd(*x, 8, dims({3, 3}), kernel(), {});
  conv->setName("conv");
  conv->setPaddingNd(dims({1, 1}));
  auto* relu = b.network->addActivation(*conv->getOutput(0), ActivationType::kRELU);
  auto* sum = b.network->addElementWise(*relu->getOutput(0), *x, ElementWiseOperation::kSUM);
  auto* softmax = b.network->addSoftMax(*sum->getOutput(0));
  softmax->setAxes(2);
  softmax->getOutput(0)->setName("y");
  b.network->markOutput(*softmax->getOutput(0));
  return b;
}

std::unique_ptr<IHostMemory> build(const Builds& b) {
  return std::unique_ptr<IHostMemory>(b.builder->buildSerializedNetwork(*b.network, *b.config));
}

constexpr size_t kCount = 8 * 6 * 6;

struct Buffers {
  Buffers() : x(kCount * 4), y(kCount * 4) {
    for (size_t i = 0; i < kCount; ++i)
      reinterpret_cast<float*>(x.data())[i] = static_cast<float>(i % 17) * 0.1F;
  }
  bool bind(IExecutionContext& context) {
    return context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data());
  }
  api_test::Memory x, y;
};

class Reliability : public testing::Test {
 protected:
  void SetUp() override {
    plan = build(network_of(log));
    ASSERT_NE(plan, nullptr);
    runtime.reset(createInferRuntime(log));
    runtime->setMaxThreads(1);
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr);
  }
  Errors log;
  std::unique_ptr<IHostMemory> plan;
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
};

/// Reads a plan as files are read.
class PlanReader final : public IStreamReader {
 public:
  explicit PlanReader(const IHostMemory& plan) : plan_(plan) {}
  int64_t read(void* to, int64_t size) override {
    const int64_t count = std::min(size, static_cast<int64_t>(plan_.size()) - at_);
    std::memcpy(to, static_cast<const std::byte*>(plan_.data()) + at_, static_cast<size_t>(count));
    at_ += count;
    return count;
  }

 private:
  const IHostMemory& plan_;
  int64_t at_ = 0;
};

TEST_F(Reliability, ManyThreadsGetTheSameBits) {
  constexpr int kThreads = 64, kRuns = 200;
  Buffers expected;
  {
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    ASSERT_TRUE(expected.bind(*context) && context->enqueueV3(nullptr));
  }
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
      Buffers own;
      if (context == nullptr || !own.bind(*context)) return;
      for (int run = 0; run < kRuns; ++run) {
        std::memset(own.y.data(), 0xff, kCount * 4);
        if (!context->enqueueV3(nullptr)) return;
        equal += std::memcmp(own.y.data(), expected.y.data(), kCount * 4) == 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, kThreads * kRuns);
}

/// f() often; memory may not grow after the first few.
void expect_no_growth(const char* name, int cycles, const std::function<bool()>& f) {
  SCOPED_TRACE(name);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(f());
  const int64_t before = live_allocations();
  for (int i = 0; i < cycles; ++i) ASSERT_TRUE(f());
  EXPECT_EQ(live_allocations(), before);
}

TEST_F(Reliability, ObjectsLeaveNothingBehind) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers count allocations themselves";
  constexpr int kCycles = 10000;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  Errors& logger = log;
  const auto made = [&](const char* name, auto make) {
    expect_no_growth(name, kCycles, [&] {
      std::unique_ptr<std::remove_pointer_t<decltype(make())>> object(make());
      return object != nullptr;
    });
  };
  made("IBuilder", [&] { return createInferBuilder(logger); });
  made("INetworkDefinition", [&] { return builder->createNetworkV2(0); });
  made("IBuilderConfig", [&] { return builder->createBuilderConfig(); });
  made("ITimingCache", [&] { return config->createTimingCache(nullptr, 0); });
  made("IParser", [&] { return nvonnxparser::createParser(*network, logger); });
  made("IRuntime", [&] { return createInferRuntime(logger); });
  made("ICudaEngine", [&] { return runtime->deserializeCudaEngine(plan->data(), plan->size()); });
  made("IExecutionContext", [&] { return engine->createExecutionContext(); });
  made("IExecutionContext without memory", [&] {
    return engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED);
  });
  made("IEngineInspector", [&] { return engine->createEngineInspector(); });
  made("IRefitter", [&] { return createInferRefitter(*engine, logger); });
  made("ISerializationConfig", [&] { return engine->createSerializationConfig(); });
  made("IRuntimeConfig", [&] { return engine->createRuntimeConfig(); });
  made("IHostMemory", [&] { return engine->serialize(); });
  const std::unique_ptr<ISerializationConfig> parts(engine->createSerializationConfig());
  const std::unique_ptr<IRuntimeConfig> ways(engine->createRuntimeConfig());
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(*engine, logger));
  const std::unique_ptr<ITimingCache> times(config->createTimingCache(nullptr, 0));
  made("a plan of parts", [&] { return engine->serializeWithConfig(*parts); });
  made("a timing cache's bytes", [&] { return times->serialize(); });
  made("a context made another way", [&] { return engine->createExecutionContext(ways.get()); });
  made("IParserRefitter", [&] { return nvonnxparser::createParserRefitter(*refitter, logger); });
  made("an engine read from a stream", [&] {
    PlanReader reader(*plan);
    return runtime->deserializeCudaEngine(reader);
  });
  expect_no_growth(
      "a run", kCycles,
      [&, context = std::shared_ptr<IExecutionContext>(engine->createExecutionContext()),
       buffers = std::make_shared<Buffers>()] {
        return buffers->bind(*context) && context->enqueueV3(nullptr);
      });
  expect_no_growth("a build", 20, [&] { return build(network_of(logger)) != nullptr; });
}

TEST(Objects, OfEachClassLeaveNothingBehind) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers count allocations themselves";
  expect_no_growth("a world", 10000, [] { return api_calls::World().attention != nullptr; });
}

/// Plugins of all creators that need no fields.
TEST(Objects, StockPluginsLeaveNothingBehind) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers count allocations themselves";
  Errors log;
  initLibNvInferPlugins(&log, "");
  int32_t count = 0, made = 0;
  IPluginCreatorInterface* const* const all = getPluginRegistry()->getAllCreators(&count);
  for (int32_t i = 0; i < count; ++i) {
    auto* const creator = dynamic_cast<IPluginCreator*>(all[i]);
    if (creator == nullptr) continue;
    const PluginFieldCollection none{};
    const auto cycle = [&] {
      IPluginV2* const plugin = creator->createPlugin("a plugin", &none);
      if (plugin != nullptr) plugin->destroy();
      return plugin;
    };
    if (cycle() == nullptr) continue;
    expect_no_growth(creator->getPluginName(), 10000, [&] { return cycle() != nullptr; });
    ++made;
  }
  EXPECT_GT(made, 20);
}

TEST_F(Reliability, EachAllocationMayFail) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers have allocators of their own";
  const Builds network = network_of(log);
  expect_errors("build", log, nullptr, [&] { return build(network) != nullptr; });
  expect_errors("load", log, nullptr, [&] {
    const std::unique_ptr<ICudaEngine> loaded(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    return loaded != nullptr;
  });
  expect_errors("context", log, nullptr, [&] {
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    return context != nullptr;
  });
  const auto made = [&](const char* name, auto make) {
    expect_errors(name, log, nullptr, [&] {
      return std::unique_ptr<std::remove_pointer_t<decltype(make())>>(make()) != nullptr;
    });
  };
  made("runtime", [&] { return createInferRuntime(log); });
  made("builder", [&] { return createInferBuilder(log); });
  made("refitter", [&] { return createInferRefitter(*engine, log); });
  made("inspector", [&] { return engine->createEngineInspector(); });
  made("serialization config", [&] { return engine->createSerializationConfig(); });
  made("runtime config", [&] { return engine->createRuntimeConfig(); });
  made("plan", [&] { return engine->serialize(); });
  expect_errors("refit", log, nullptr, [&] {
    const std::unique_ptr<IRefitter> refitter(createInferRefitter(*engine, log));
    return refitter != nullptr && refitter->setWeights("conv", WeightsRole::kKERNEL, kernel()) &&
           refitter->refitCudaEngine();
  });
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  expect_errors("shapes", log, nullptr, [&] {
    return context->inferShapes(0, nullptr) == 0 && context->getTensorShape("y").nbDims >= 0 &&
           context->getMaxOutputSize("y") > 0;
  });
  Buffers buffers;
  expect_errors("first run", log, nullptr, [&] {
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    return context != nullptr && buffers.bind(*context) && context->enqueueV3(nullptr);
  });
}

}  // namespace
}  // namespace reliability
