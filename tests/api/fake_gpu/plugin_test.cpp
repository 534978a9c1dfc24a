// Plugins on a GPU, over a driver that only pretends: its memory is the host's, so that plugins of
// the host do their work there.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using namespace plugin_test;

/// The calls of objects of a kind.
struct Seen {
  cudaStream_t stream = nullptr;
  const void* input = nullptr;
  bool workspace = false, memory = false;
  std::vector<int32_t> tactics, ran;  ///< Those set, and those of each enqueue().
  int runs = 0;
};

/// Notes its calls; two tactics of its own, whose times are kept under `id`.
class Watched : public Repeat {
 public:
  using Repeat::Repeat;
  static inline Seen seen;
  static inline const char* id = nullptr;
  static inline DataType taken = DataType::kFLOAT;

  IPluginV3* clone() noexcept override { return new Watched(*this); }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    for (int32_t i = 0; i < count; ++i) tactics[i] = 7 + i;
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return id; }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].desc.type == taken && inOut[pos].desc.format == TensorFormat::kLINEAR;
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    IGpuAllocator* allocator = context == nullptr ? nullptr : context->getGpuAllocator();
    if (allocator == nullptr) return nullptr;
    void* memory = allocator->allocateAsync(100, 0, 0, nullptr);
    seen.memory = memory != nullptr && allocator->deallocateAsync(memory, nullptr) &&
                  !allocator->deallocateAsync(&seen, nullptr);
    return clone();
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    seen.tactics.push_back(tactic);
    tactic_ = tactic;
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    ++seen.runs;
    seen.ran.push_back(tactic_);
    seen.stream = stream;
    seen.input = inputs[0];
    seen.workspace = workspace != nullptr;
    return Repeat::enqueue(in, out, inputs, outputs, workspace, stream);
  }

 private:
  int32_t tactic_ = -1;
};

/// The same; its objects for running lack the interface for building.
class Split final : public Watched {
 public:
  explicit Split(float factor) : Watched(factor), phase_(last_phase) {}
  static inline TensorRTPhase last_phase = TensorRTPhase::kBUILD;
  IPluginV3* clone() noexcept override { return new Split(*this); }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kBUILD && phase_ == TensorRTPhase::kRUNTIME) return nullptr;
    return Watched::getCapabilityInterface(type);
  }

 private:
  TensorRTPhase phase_;
};

/// Tells the objects their purpose.
class SplitCreator final : public CreatorOf<Split> {
 public:
  IPluginV3* createPlugin(const char* name, const PluginFieldCollection* fields,
                          TensorRTPhase phase) noexcept override {
    Split::last_phase = phase;
    return CreatorOf<Split>::createPlugin(name, fields, phase);
  }
};

/// Notes calls by other threads than the one that made it.
class OfOneThread final : public Repeat {
 public:
  using Repeat::Repeat;
  static inline std::thread::id home;
  static inline std::atomic<int> calls = 0, strange_calls = 0;
  static void note() {
    ++calls;
    if (std::this_thread::get_id() != home) ++strange_calls;
  }

  IPluginV3* clone() noexcept override {
    note();
    return new OfOneThread(*this);
  }
  int32_t getNbTactics() noexcept override { return 8; }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    note();
    for (int32_t i = 0; i < count; ++i) tactics[i] = 1 + i;
    return 0;
  }
  int32_t setTactic(int32_t) noexcept override {
    note();
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    note();
    return Repeat::enqueue(in, out, inputs, outputs, workspace, stream);
  }
};

class CreatorOfOneThread final : public CreatorOf<OfOneThread> {
 public:
  IPluginV3* createPlugin(const char* name, const PluginFieldCollection* fields,
                          TensorRTPhase phase) noexcept override {
    OfOneThread::note();
    return CreatorOf<OfOneThread>::createPlugin(name, fields, phase);
  }
};

/// Takes vectors of 32 channels alone, and notes the format that it runs in.
class Vectors final : public Copier<Vectors> {
 public:
  static constexpr const char* kName = "Vectors";
  static inline TensorFormat ran_in = TensorFormat::kLINEAR;

  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[pos].desc.format == TensorFormat::kCHW32;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    ran_in = in[0].format;
    return 0;
  }
};

/// y = plugin(x), for the GPU that is not there.
class GpuPlugin : public testing::Test {
 protected:
  void SetUp() override {
    Watched::seen = {};
    Watched::id = nullptr;
    Watched::taken = DataType::kFLOAT;
    setenv("TENON_CACHE_DIR", (testing::TempDir() + "/fake_gpu_cache").c_str(), 1);
  }

  template <class Plugin> static void define(Session& session, float factor) {
    ITensor* x = session.input("x", DataType::kFLOAT, {-1, 2});
    Plugin plugin(factor);
    IPluginV3Layer* layer = session.network->addPluginV3(&x, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr) << session.log.text();
    layer->setName("repeat");
    session.output(layer->getOutput(0), "y");
    session.profile("x", {1, 2}, {2, 2}, {4, 2});
    tenon::setBuildDevice(*session.config, 0);
  }
  /// One run of [2, 2] on a stream.
  static std::vector<float> run(Session& session, cudaStream_t stream) {
    std::vector<float> y(8);
    IExecutionContext& context = *session.context;
    EXPECT_TRUE(context.setInputShape("x", dims({2, 2})) && context.setTensorAddress("x", x_) &&
                context.setTensorAddress("y", y.data()));
    EXPECT_TRUE(context.enqueueV3(stream)) << session.log.text();
    return y;
  }
  static inline float x_[4] = {-1, 2, 3, -4};
};

TEST_F(GpuPlugin, GetsDeviceMemoryAndTheStream) {
  Registered<CreatorOf<Watched>> registered("test");
  Session session;
  define<Watched>(session, 3);
  session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(tenon::runsOnGpu(*session.engine));
  EXPECT_EQ(registered.creator.last_phase, TensorRTPhase::kRUNTIME);
  int stream = 0;
  const auto handle = reinterpret_cast<cudaStream_t>(&stream);
  EXPECT_EQ(run(session, handle), (std::vector<float>{-3, 6, 9, -12, -3, 6, 9, -12}));
  EXPECT_EQ(Watched::seen.stream, handle);
  EXPECT_EQ(Watched::seen.input, x_);
  EXPECT_TRUE(Watched::seen.workspace && Watched::seen.memory);
  std::unique_ptr<IEngineInspector> inspector(session.engine->createEngineInspector());
  EXPECT_NE(std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON))
                .find("cuda.plugin"),
            std::string::npos);
}

TEST_F(GpuPlugin, ItsTacticsAreTimedAndKeptUnderItsName) {
  Registered<CreatorOf<Watched>> registered("test");
  for (const char* id : {static_cast<const char*>(nullptr), "repeat 1"}) {
    Watched::id = id;
    std::unique_ptr<ITimingCache> cache;
    for (const bool again : {false, true}) {
      Watched::seen = {};
      Session session;
      define<Watched>(session, 3);
      if (cache == nullptr) cache.reset(session.config->createTimingCache(nullptr, 0));
      session.config->setTimingCache(*cache, true);
      ASSERT_TRUE(session.build());
      const std::vector<int32_t>& ran = Watched::seen.ran;
      const bool timed = std::find(ran.begin(), ran.end(), 7) != ran.end() &&
                         std::find(ran.begin(), ran.end(), 8) != ran.end();
      EXPECT_EQ(timed, !again || id == nullptr) << (id == nullptr ? "no ID" : id);
      run(session, nullptr);
      EXPECT_EQ(Watched::seen.ran.back(), Watched::seen.tactics.back());
    }
  }
}

TEST_F(GpuPlugin, ObjectsForRunningNeedNotKnowOfBuilding) {
  Registered<SplitCreator> registered("test");
  Session session;
  define<Split>(session, 2);
  ASSERT_TRUE(session.build());
  EXPECT_EQ(run(session, nullptr), (std::vector<float>{-2, 4, 6, -8, -2, 4, 6, -8}));
  EXPECT_TRUE(Watched::seen.workspace);
}

/// The kernels that move its tensors are compiled and launched, though this GPU computes nothing.
TEST_F(GpuPlugin, TakesOtherFormatsThanLinear) {
  Registered<StatelessCreator<Vectors>> registered("");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 5, 3, 4});
  Vectors plugin;
  session.output(session.network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0), "y");
  session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  tenon::setBuildDevice(*session.config, 0);
  ASSERT_TRUE(session.build());
  alignas(16) static float from[120], to[120];
  EXPECT_TRUE(session.context->setTensorAddress("x", from) &&
              session.context->setTensorAddress("y", to));
  EXPECT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  EXPECT_EQ(Vectors::ran_in, TensorFormat::kCHW32);
  std::unique_ptr<IEngineInspector> inspector(session.engine->createEngineInspector());
  EXPECT_NE(std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON))
                .find("cuda.plugin{formats=5:5}"),
            std::string::npos);
}

TEST_F(GpuPlugin, IsCalledByTheThreadThatBuildsOrRuns) {
  Registered<CreatorOfOneThread> registered("test");
  OfOneThread::home = std::this_thread::get_id();
  OfOneThread::calls = OfOneThread::strange_calls = 0;
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 2});
  for (int i = 1; i <= 8; ++i) {
    OfOneThread plugin(static_cast<float>(i));
    IPluginV3Layer* layer = session.network->addPluginV3(&x, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr) << session.log.text();
    const std::string name = "y" + std::to_string(i);
    session.output(layer->getOutput(0), name.c_str());
  }
  session.profile("x", {1, 2}, {2, 2}, {4, 2});
  tenon::setBuildDevice(*session.config, 0);
  ASSERT_TRUE(session.build());
  EXPECT_GT(OfOneThread::calls, 64);
  EXPECT_EQ(OfOneThread::strange_calls, 0);
  float rows[8][8];
  EXPECT_TRUE(session.context->setInputShape("x", dims({2, 2})) &&
              session.context->setTensorAddress("x", x_));
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(session.context->setTensorAddress(("y" + std::to_string(i + 1)).c_str(), rows[i]));
  EXPECT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  EXPECT_EQ(rows[7][1], 16);
  EXPECT_EQ(OfOneThread::strange_calls, 0);
}

TEST_F(GpuPlugin, WhatItDoesNotTakeIsOneError) {
  Registered<CreatorOf<Watched>> registered("test");
  Session session;
  define<Watched>(session, 3);
  Watched::taken =
      DataType::kBOOL;  // Of the objects that building makes; reals are not converted to it.
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_EQ(session.log.errors.size(), 1u);
  EXPECT_NE(session.log.text().find("'repeat'"), std::string::npos) << session.log.text();
  EXPECT_EQ(session.log.text().find("softmax"), std::string::npos) << session.log.text();
  EXPECT_TRUE(session.log.complained("does not take input 0 linear and in FP32"));
}

TEST_F(GpuPlugin, FailuresOfEnqueueAreOneError) {
  Registered<CreatorOf<Watched>> registered("test");
  Session session;
  define<Watched>(session, -1);
  Watched::id = "fails";
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(session.log.errors.size(), 1u);
  EXPECT_TRUE(session.log.complained("enqueue failed"));
}

}  // namespace
}  // namespace api_test
