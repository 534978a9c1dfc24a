// Plugins of both generations: added by calls, written into plans, made again by their creators.
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "harness.h"
#include "plugins.h"
#include "recorder.h"

namespace api_test {
namespace {

using namespace plugin_test;
using F = std::vector<float>;

TEST(Plugin, ThirdGenerationRunsFromAPlan) {
  Registered<RepeatCreator> registered("test");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 2});
  Repeat plugin(3);
  ITensor* inputs[] = {session.network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0)};
  IPluginV3Layer* layer = session.network->addPluginV3(inputs, 1, nullptr, 0, plugin);
  ASSERT_NE(layer, nullptr) << session.log.text();
  layer->setName("repeat");
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
  EXPECT_EQ(&layer->getPlugin(), static_cast<IPluginV3*>(&plugin));
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 2}));
  session.output(
      session.network->addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0),
      "y");
  session.profile("x", {1, 2}, {2, 2}, {4, 2});
  const Array y = session.run({{"x", floats({2, 2}, {-1, 2, 3, -4})}})["y"];
  EXPECT_EQ(y.extents, (std::vector<int64_t>{4, 2}));
  expect_near(y, {3, 0, 0, 12, 3, 0, 0, 12});
  EXPECT_EQ(registered.creator.last_phase, TensorRTPhase::kRUNTIME);
  expect_near(session.run({{"x", floats({1, 2}, {-1, -2})}})["y"], {3, 6, 3, 6});
  std::unique_ptr<IEngineInspector> inspector(session.engine->createEngineInspector());
  EXPECT_NE(
      std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON)).find("repeat"),
      std::string::npos);
}

/// Notes the objects that run, and waits in each run until so many run at the same time.
class Meeting final : public Repeat {
 public:
  using Repeat::Repeat;
  static inline std::mutex mutex;
  static inline std::condition_variable changed;
  static inline std::set<const Meeting*> running;
  static inline size_t most = 0, wanted = 1;
  static inline std::vector<IPluginResourceContext*> attached;

  IPluginV3* clone() noexcept override { return new Meeting(factor_); }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    attached.push_back(context);
    return clone();
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    std::unique_lock lock(mutex);
    if (!running.insert(this).second) return 1;
    most = std::max(most, running.size());
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(5), [] { return most >= wanted; });
    const int32_t result = Repeat::enqueue(in, out, inputs, outputs, workspace, stream);
    running.erase(this);
    return result;
  }
};

void add_meeting(Session& session) {
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  Meeting plugin(3);
  session.output(session.network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0), "y");
}

TEST(Plugin, EachContextHasObjectsOfItsOwn) {
  Registered<CreatorOf<Meeting>> registered("test");
  Session session;
  add_meeting(session);
  Meeting::wanted = 1;
  ASSERT_TRUE(session.build());
  std::vector<std::unique_ptr<IExecutionContext>> contexts;
  for (int i = 0; i < 3; ++i) contexts.emplace_back(session.engine->createExecutionContext());
  Meeting::wanted = contexts.size();
  const F x = {-1, 2, 3, -4};
  std::vector<F> results(contexts.size(), F(8));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < contexts.size(); ++i)
    threads.emplace_back([&, i] {
      contexts[i]->setTensorAddress("x", const_cast<float*>(x.data()));
      contexts[i]->setTensorAddress("y", results[i].data());
      EXPECT_TRUE(contexts[i]->enqueueV3(nullptr)) << session.log.text();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Meeting::most, contexts.size());
  for (const F& y : results) EXPECT_EQ(y, (F{-3, 6, 9, -12, -3, 6, 9, -12}));
}

/// Notes the objects that ran, which must know the shapes that they run with.
class Lasting final : public Repeat {
 public:
  using Repeat::Repeat;
  static inline std::vector<const Lasting*> ran;
  static inline int attached = 0;

  IPluginV3* clone() noexcept override { return new Lasting(factor_); }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override {
    ++attached;
    return clone();
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    rows_ = in[0].dims.d[0];
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    ran.push_back(this);
    if (rows_ != in[0].dims.d[0]) return 1;
    return Repeat::enqueue(in, out, inputs, outputs, workspace, stream);
  }

 private:
  int64_t rows_ = -1;
};

TEST(Plugin, AContextKeepsItsObjectsOverAllShapes) {
  Registered<CreatorOf<Lasting>> registered("test");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 2});
  Lasting plugin(3);
  session.output(session.network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0), "y");
  session.profile("x", {1, 2}, {2, 2}, {40, 2});
  ASSERT_TRUE(session.build());
  Lasting::ran.clear();
  Lasting::attached = 0;
  for (const int64_t rows : {1, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2}) {
    const auto count = static_cast<size_t>(2 * rows);
    expect_near(session.run({{"x", floats({rows, 2}, F(count, 1))}})["y"], F(2 * count, 3));
  }
  ASSERT_EQ(Lasting::ran.size(), 14u);
  for (const Lasting* object : Lasting::ran) EXPECT_EQ(object, Lasting::ran[0]);
  EXPECT_EQ(Lasting::attached, 1);
}

TEST(Plugin, ReachesTheErrorRecorder) {
  Registered<CreatorOf<Meeting>> registered("test");
  Session session;
  add_meeting(session);
  Meeting::wanted = 1;
  Recorder recorder;
  {
    session.builder->setErrorRecorder(&recorder);
    ASSERT_TRUE(session.build());
    session.context->setErrorRecorder(&recorder);
    session.run({{"x", floats({2, 2}, {1, 2, 3, 4})}});
    ASSERT_FALSE(Meeting::attached.empty());
    IPluginResourceContext& context = *Meeting::attached.back();
    ASSERT_EQ(context.getErrorRecorder(), &recorder);
    context.getErrorRecorder()->reportError(ErrorCode::kFAILED_EXECUTION, "from a plugin");
    EXPECT_EQ(recorder.getNbErrors(), 1);
    session.context->setErrorRecorder(nullptr);
    EXPECT_EQ(context.getErrorRecorder(), nullptr);
    session.builder->setErrorRecorder(nullptr);
  }
  EXPECT_EQ(recorder.references, 0);
}

TEST(Plugin, SecondGenerationRunsFromAPlan) {
  Registered<OffsetCreator> registered("");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3});
  Offset plugin(0.5F);
  IPluginV2Layer* layer = session.network->addPluginV2(&x, 1, plugin);
  ASSERT_NE(layer, nullptr) << session.log.text();
  session.output(layer->getOutput(0), "y");
  expect_near(session.run({{"x", floats({3}, {1, 2, 3})}})["y"], {1.5F, 2.5F, 3.5F});
}

TEST(Plugin, WhatIsWrongIsExplained) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  Repeat plugin(3);
  IPluginV3Layer* layer = session.network->addPluginV3(&x, 1, nullptr, 0, plugin);
  session.output(layer->getOutput(0), "y");
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("no creator"));
  EXPECT_EQ(session.network->addPluginV3(nullptr, 1, nullptr, 0, plugin), nullptr);
  EXPECT_TRUE(session.log.complained("addPluginV3"));
  ITensor* whole = session.input("whole", DataType::kINT32, {2, 2});
  IPluginV3Layer* other = session.network->addPluginV3(&whole, 1, nullptr, 0, plugin);
  EXPECT_EQ(other->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_TRUE(session.log.complained("does not take input 0"));
}

TEST(Plugin, FailuresOfEnqueueComeOut) {
  Registered<RepeatCreator> registered("test");
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 2});
  Repeat plugin(-1);
  session.output(session.network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0), "y");
  ASSERT_TRUE(session.build());
  F in(2), out(4);
  session.context->setTensorAddress("x", in.data());
  session.context->setTensorAddress("y", out.data());
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("Repeat"));
}

/// Gives its input as many times as the shape input says.
class Rows final : public plugin_test::Copier<Rows> {
 public:
  static constexpr auto kName = "Rows";
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t inputs,
                          const DynamicPluginTensorDesc*, int32_t) noexcept override {
    return inputs == 1 ? 0 : 1;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs* values, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    outputs[0].nbDims = 2;
    outputs[0].d[0] =
        builder.operation(DimensionOperation::kPROD, *values[0].d[0], *builder.constant(2));
    outputs[0].d[1] = inputs[0].d[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* operands, int32_t,
                                 int32_t) noexcept override {
    return operands[at].desc.format == TensorFormat::kLINEAR &&
           operands[at].desc.type == DataType::kFLOAT;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                  const void* const* x, void* const* y, void*, cudaStream_t) noexcept override {
    const auto width = static_cast<size_t>(inputs[0].dims.d[0]);
    for (int64_t row = 0; row < outputs[0].dims.d[0]; ++row)
      std::memcpy(static_cast<float*>(y[0]) + static_cast<size_t>(row) * width, x[0], 4 * width);
    return 0;
  }
};

TEST(Plugin, ValuesOfShapeInputsDecideShapes) {
  for (const bool computed : {false, true})
    for (const int rank : {0, 1}) {
      plugin_test::StatelessCreator<Rows> creator;
      ASSERT_TRUE(
          getPluginRegistry()->registerCreator(static_cast<IPluginCreatorInterface&>(creator), ""));
      Session session;
      ITensor* x = session.input("x", DataType::kFLOAT, {3});
      ITensor* given = session.network->addInput("k", DataType::kINT64, Dims{rank, {1}});
      ITensor* count = given;
      if (computed)
        count = session.network->addElementWise(*given, *given, ElementWiseOperation::kSUM)
                    ->getOutput(0);
      Rows plugin;
      IPluginV3Layer* layer = session.network->addPluginV3(&x, 1, &count, 1, plugin);
      ASSERT_NE(layer, nullptr);
      session.output(layer->getOutput(0), "y");
      IOptimizationProfile* profile = session.builder->createOptimizationProfile();
      for (const int at : {0, 1, 2}) {
        const int64_t value = at + 1;
        ASSERT_TRUE(profile->setShapeValuesV2("k", static_cast<OptProfileSelector>(at), &value, 1));
      }
      session.config->addOptimizationProfile(profile);
      ASSERT_TRUE(session.build()) << session.log.text();
      EXPECT_TRUE(session.engine->isShapeInferenceIO("k"));
      int64_t k = 2;
      std::vector<float> in = {1, 2, 3}, out(36);
      IExecutionContext& context = *session.context;
      ASSERT_TRUE(context.setTensorAddress("x", in.data()) &&
                  context.setTensorAddress("y", out.data()) && context.setTensorAddress("k", &k));
      ASSERT_EQ(context.inferShapes(0, nullptr), 0);
      EXPECT_EQ(context.getTensorShape("y").d[0], computed ? 8 : 4);
      ASSERT_TRUE(context.enqueueV3(nullptr)) << session.log.text();
      EXPECT_EQ(out[computed ? 23 : 11], 3.0F);
      EXPECT_EQ(out[computed ? 24 : 12], 0.0F);
      getPluginRegistry()->deregisterCreator(static_cast<IPluginCreatorInterface&>(creator));
    }
}

TEST(Plugin, TheRegistryLogsWhereALoggerLives) {
  IPluginRegistry& registry = *getPluginRegistry();
  EXPECT_EQ(getLogger(), nullptr);
  EXPECT_EQ(registry.getCreator("Nothing", "1", ""), nullptr);
  Log first, second;
  {
    const std::unique_ptr<IRuntime> one(createInferRuntime(first)), two(createInferRuntime(second));
    EXPECT_EQ(getLogger(), &first);
    EXPECT_EQ(registry.getCreator("Not\nhing", "1", ""), nullptr);
    EXPECT_TRUE(first.complained("getCreator: no plugin 'Not\\x0ahing', version '1'"));
    EXPECT_EQ(registry.loadLibrary("/nowhere/libnothing.so"), nullptr);
    EXPECT_TRUE(first.complained("loadLibrary: /nowhere/libnothing.so: cannot open"));
  }
  EXPECT_EQ(getLogger(), nullptr);
  EXPECT_EQ(registry.getCreator("Nothing", "1", ""), nullptr);
  EXPECT_TRUE(first.errors.empty() && second.errors.empty());
}

TEST(Plugin, RegistryFindsByNameVersionAndNamespace) {
  IPluginRegistry& registry = *getPluginRegistry();
  EXPECT_EQ(registry.getCreator("Repeat", "1", "test"), nullptr);
  Registered<RepeatCreator> registered("test");
  EXPECT_EQ(registry.getCreator("Repeat", "1", "test"), &registered.as_interface());
  Recorder recorder;
  registry.setErrorRecorder(&recorder);
  EXPECT_EQ(registry.getCreator("Repeat", "2", "test"), nullptr);
  EXPECT_EQ(registry.getCreator("EfficientNMS_Implicit_TF_TRT", "1", ""), nullptr);
  registry.setErrorRecorder(nullptr);
  ASSERT_EQ(recorder.getNbErrors(), 2);
  EXPECT_STREQ(recorder.getErrorDesc(0),
               "getCreator: no plugin 'Repeat', version '2', namespace 'test' is registered "
               "(registered are 'Repeat', version '1', namespace 'test')");
  EXPECT_NE(recorder.errors[1].second.find("TensorRT's plugin of that name is not there: use"),
            std::string::npos);
  EXPECT_EQ(registry.getCreator("Repeat", "1", ""), nullptr);
  EXPECT_FALSE(registry.registerCreator(registered.as_interface(), "test"));
  int32_t count = 0;
  EXPECT_NE(registry.getAllCreators(&count), nullptr);
  EXPECT_GE(count, 1);
  EXPECT_EQ(registry.loadLibrary("/nowhere/libnothing.so"), nullptr);
}

}  // namespace
}  // namespace api_test
