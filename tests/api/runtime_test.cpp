// Engines, contexts, profiles, caches, reports and their refusals.
#include <dlfcn.h>

#include <map>
#include <tuple>

#include "harness.h"
#include "recorder.h"

namespace api_test {
namespace {

using F = std::vector<float>;

/// y = relu(x w), x [batch, 4] with batch from 1 to 8.
struct Dynamic : Session {
  explicit Dynamic() {
    ITensor* x = input("x", DataType::kFLOAT, {-1, 4});
    F w(4 * 16);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) - 3;
    auto* product = network->addMatrixMultiply(*x, MatrixOperation::kNONE, *constant({4, 16}, w),
                                               MatrixOperation::kNONE);
    product->setName("product");
    auto* soft = network->addSoftMax(*product->getOutput(0));
    soft->setAxes(2);
    soft->setName("soft");
    output(soft->getOutput(0), "y");
    profile("x", {1, 4}, {2, 4}, {8, 4});
  }
};

TEST(Engine, DescribesItsTensors) {
  Dynamic session;
  session.network->setName("test network");
  ASSERT_TRUE(session.build());
  const ICudaEngine& engine = *session.engine;
  EXPECT_STREQ(engine.getName(), "test network");
  EXPECT_EQ(engine.getNbIOTensors(), 2);
  EXPECT_STREQ(engine.getIOTensorName(0), "x");
  EXPECT_STREQ(engine.getIOTensorName(1), "y");
  EXPECT_EQ(engine.getIOTensorName(2), nullptr);
  EXPECT_EQ(engine.getTensorIOMode("x"), TensorIOMode::kINPUT);
  EXPECT_EQ(engine.getTensorIOMode("y"), TensorIOMode::kOUTPUT);
  EXPECT_EQ(engine.getTensorIOMode("z"), TensorIOMode::kNONE);
  EXPECT_EQ(extents_of(engine.getTensorShape("x")), (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(extents_of(engine.getTensorShape("y")), (std::vector<int64_t>{-1, 16}));
  EXPECT_EQ(engine.getTensorShape("z").nbDims, -1);
  EXPECT_TRUE(session.log.complained("'z'"));
  EXPECT_EQ(engine.getTensorDataType("x"), DataType::kFLOAT);
  // Formats with components there are none.
  EXPECT_EQ(engine.getTensorBytesPerComponent("x"), -1);
  EXPECT_EQ(engine.getTensorBytesPerComponent("z"), -1);
  EXPECT_EQ(engine.getTensorComponentsPerElement("x"), -1);
  EXPECT_EQ(engine.getTensorFormat("x"), TensorFormat::kLINEAR);
  EXPECT_STREQ(engine.getTensorFormatDesc("x"), "Row major linear FP32 format (kLINEAR)");
  EXPECT_EQ(engine.getTensorVectorizedDim("x"), -1);
  EXPECT_EQ(engine.getTensorLocation("x"), TensorLocation::kDEVICE);
  EXPECT_FALSE(engine.isShapeInferenceIO("x"));
  EXPECT_EQ(engine.getNbOptimizationProfiles(), 1);
  EXPECT_EQ(extents_of(engine.getProfileShape("x", 0, OptProfileSelector::kMAX)),
            (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(engine.getProfileShape("x", 1, OptProfileSelector::kMAX).nbDims, -1);
  EXPECT_EQ(engine.getProfileShape("y", 0, OptProfileSelector::kMAX).nbDims, -1);
  EXPECT_GE(engine.getNbLayers(), 1);
  EXPECT_EQ(engine.getNbAuxStreams(), 0);
  EXPECT_EQ(engine.getEngineCapability(), EngineCapability::kSTANDARD);
  EXPECT_EQ(engine.getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
  EXPECT_EQ(engine.getProfilingVerbosity(), ProfilingVerbosity::kLAYER_NAMES_ONLY);
  EXPECT_FALSE(engine.hasImplicitBatchDimension());
  EXPECT_GT(engine.getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE), 0);
  EXPECT_EQ(engine.getAliasedInputTensor("y"), nullptr);
}

TEST(Context, ShapesAreCheckedAgainstTheProfile) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  IExecutionContext& context = *session.context;
  EXPECT_FALSE(context.allInputDimensionsSpecified());
  const char* missing[2] = {};
  EXPECT_EQ(context.inferShapes(2, missing), 1);
  EXPECT_STREQ(missing[0], "x");
  EXPECT_FALSE(context.setInputShape("x", dims({9, 4})));
  EXPECT_FALSE(session.log.text().empty());
  session.log.errors.clear();
  EXPECT_FALSE(context.setInputShape("x", dims({2, 5})));
  EXPECT_FALSE(context.setInputShape("y", dims({2, 16})));
  EXPECT_FALSE(context.setInputShape(nullptr, dims({2, 4})));
  EXPECT_TRUE(context.setInputShape("x", dims({3, 4})));
  EXPECT_TRUE(context.allInputDimensionsSpecified());
  EXPECT_EQ(context.inferShapes(0, nullptr), 0);
  EXPECT_EQ(extents_of(context.getTensorShape("y")), (std::vector<int64_t>{3, 16}));
  EXPECT_EQ(extents_of(context.getTensorStrides("y")), (std::vector<int64_t>{16, 1}));
  EXPECT_EQ(context.getMaxOutputSize("y"), 3 * 16 * 4);
  EXPECT_EQ(context.getOptimizationProfile(), 0);
  EXPECT_FALSE(context.setOptimizationProfileAsync(1, nullptr));
  EXPECT_TRUE(context.setOptimizationProfileAsync(0, nullptr));
}

TEST(Context, WrongOrderOfCallsIsExplained) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  IExecutionContext& context = *session.context;
  EXPECT_FALSE(context.enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("shape of input 'x'"));
  EXPECT_TRUE(context.setInputShape("x", dims({1, 4})));
  EXPECT_FALSE(context.enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("no address"));
  EXPECT_FALSE(context.setTensorAddress("z", nullptr));
  EXPECT_TRUE(session.log.complained("'z'"));
  EXPECT_FALSE(context.executeV2(nullptr));
}

TEST(Context, ExecutesBindingsInOrder) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(session.context->setInputShape("x", dims({1, 4})));
  F x = {1, 2, 3, 4}, y(16);
  void* bindings[] = {x.data(), y.data()};
  EXPECT_TRUE(session.context->executeV2(bindings));
  float sum = 0;
  for (float value : y) sum += value;
  EXPECT_NEAR(sum, 1, kNear);
  EXPECT_EQ(session.context->getTensorAddress("x"), x.data());
}

TEST(Context, RunsInTheApplicationsMemory) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {64, 64});
  ITensor* value = x;
  for (int i = 0; i < 3; ++i) {
    value = session.network
                ->addMatrixMultiply(*value, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                ->getOutput(0);
    auto* soft = session.network->addSoftMax(*value);
    soft->setAxes(2);
    value = soft->getOutput(0);
  }
  session.output(value, "y");
  ASSERT_TRUE(session.build());
  const int64_t size = session.engine->getDeviceMemorySizeV2();
  ASSERT_GT(size, 0);
  EXPECT_EQ(session.engine->getDeviceMemorySizeForProfileV2(0), size);
  std::unique_ptr<IExecutionContext> context(
      session.engine->createExecutionContextWithoutDeviceMemory());
  F in(64 * 64, 0.01F), out(64 * 64);
  context->setTensorAddress("x", in.data());
  context->setTensorAddress("y", out.data());
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("memory"));
  std::vector<std::byte> memory(static_cast<size_t>(size) + 256);
  void* aligned = memory.data();
  size_t space = memory.size();
  std::align(256, static_cast<size_t>(size), aligned, space);
  context->setDeviceMemoryV2(aligned, size - 1);
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("bytes"));
  context->setDeviceMemoryV2(aligned, size);
  EXPECT_TRUE(context->enqueueV3(nullptr)) << session.log.text();
  EXPECT_NEAR(out[0], 1.0F / 64, kNear);
  bool used = false;
  for (std::byte byte : memory) used = used || byte != std::byte{0};
  EXPECT_TRUE(used) << "the memory was not touched";
}

class Times final : public IProfiler {
 public:
  void reportLayerTime(const char* name, float ms) noexcept override {
    layers.emplace_back(name);
    EXPECT_GE(ms, 0);
  }
  std::vector<std::string> layers;
};

TEST(Context, ReportsLayerTimes) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  Times times;
  session.context->setProfiler(&times);
  EXPECT_EQ(session.context->getProfiler(), &times);
  session.run({{"x", floats({1, 4}, {1, 2, 3, 4})}});
  EXPECT_FALSE(times.layers.empty());
  times.layers.clear();
  session.context->setEnqueueEmitsProfile(false);
  session.run({{"x", floats({1, 4}, {1, 2, 3, 4})}});
  EXPECT_TRUE(times.layers.empty());
  EXPECT_TRUE(session.context->reportToProfiler());
  EXPECT_FALSE(times.layers.empty());
}

TEST(Inspector, GivesJson) {
  Dynamic session;
  session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  ASSERT_TRUE(session.build());
  std::unique_ptr<IEngineInspector> inspector(session.engine->createEngineInspector());
  const std::string all = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(all.find("\"Layers\""), std::string::npos);
  EXPECT_NE(all.find("\"Bindings\""), std::string::npos);
  EXPECT_NE(all.find("product"), std::string::npos);
  const std::string one = inspector->getLayerInformation(0, LayerInformationFormat::kONELINE);
  EXPECT_TRUE(one.starts_with("Name: ")) << one;
  EXPECT_NE(one.find(", LayerType: "), std::string::npos) << one;
  EXPECT_NE(one.find("Inputs: [ { Name: "), std::string::npos) << one;
  EXPECT_NE(one.find("Dimensions: ["), std::string::npos) << one;
  EXPECT_NE(one.find(", TacticName: "), std::string::npos) << one;
  Recorder recorder;
  inspector->setErrorRecorder(&recorder);
  EXPECT_STREQ(inspector->getLayerInformation(99, LayerInformationFormat::kJSON), "");
  EXPECT_EQ(recorder.getNbErrors(), 1);
  inspector->setErrorRecorder(nullptr);
}

/// Of layers of one kernel together; a layer without any adds nothing.
TEST(Inspector, HasTheMetadataThatLayersWereGiven) {
  Session session;
  ITensor* y = session.input("x", DataType::kFLOAT, {2});
  for (const char* metadata : {"line 3", "", "line 7"}) {
    ILayer* layer = session.network->addActivation(*y, ActivationType::kSIGMOID);
    layer->setMetadata(metadata);
    y = layer->getOutput(0);
  }
  session.output(y, "y");
  session.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  ASSERT_TRUE(session.build());
  const std::unique_ptr<IEngineInspector> inspector(session.engine->createEngineInspector());
  const std::string text = inspector->getLayerInformation(0, LayerInformationFormat::kJSON);
  EXPECT_NE(text.find(R"("Metadata": "line 3\u001eline 7")"), std::string::npos) << text;
}

TEST(ErrorRecorder, ReceivesErrorsOfBuilderAndNetwork) {
  Recorder recorder;
  {
    Session session;
    session.builder->setErrorRecorder(&recorder);
    EXPECT_EQ(session.builder->getErrorRecorder(), &recorder);
    EXPECT_EQ(recorder.references, 1);
    EXPECT_EQ(session.network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    ASSERT_EQ(recorder.getNbErrors(), 1);
    EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_NE(std::string(recorder.getErrorDesc(0)).find("addInput"), std::string::npos);
  }
  EXPECT_EQ(recorder.references, 0);
}

class Monitor final : public IProgressMonitor {
 public:
  void phaseStart(const char* phase, const char* parent, int32_t count) noexcept override {
    EXPECT_GT(count, 0);
    EXPECT_EQ(parent == nullptr, open.empty());
    open.emplace_back(phase);
    counts[phase] = count;
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    EXPECT_EQ(open.back(), phase);
    EXPECT_GE(step, 0);
    EXPECT_LT(step, counts[phase]);
    return ++steps != stop_at;
  }
  void phaseFinish(const char* phase) noexcept override {
    EXPECT_EQ(open.back(), phase);
    open.pop_back();
  }
  std::vector<std::string> open;
  std::map<std::string, int> counts;  ///< Slow builds have phases of evaluations too.
  int steps = 0, stop_at = -1;
};

TEST(ProgressMonitor, IsToldAndCanStop) {
  Dynamic session;
  Monitor monitor;
  session.config->setProgressMonitor(&monitor);
  ASSERT_TRUE(session.build());
  EXPECT_EQ(monitor.counts["Building the plan"], 2);
  EXPECT_TRUE(monitor.counts.contains("Choosing kernels"));
  EXPECT_GT(monitor.steps, 2);
  EXPECT_TRUE(monitor.open.empty());
  Monitor stopping;
  stopping.stop_at = 2;
  session.config->setProgressMonitor(&stopping);
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("progress monitor"));
  EXPECT_TRUE(stopping.open.empty());
}

TEST(TimingCache, SerializesCombinesAndResets) {
  Dynamic session;
  std::unique_ptr<ITimingCache> cache(session.config->createTimingCache(nullptr, 0));
  ASSERT_NE(cache, nullptr);
  EXPECT_TRUE(session.config->setTimingCache(*cache, false));
  EXPECT_EQ(session.config->getTimingCache(), cache.get());
  session.config->setBuilderOptimizationLevel(5);
  session.config->setFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  ASSERT_TRUE(session.build());
  const int64_t count = cache->queryKeys(nullptr, 0);
  EXPECT_GT(count, 0);
  std::unique_ptr<IHostMemory> bytes(cache->serialize());
  std::unique_ptr<ITimingCache> copy(
      session.config->createTimingCache(bytes->data(), bytes->size()));
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->queryKeys(nullptr, 0), count);
  std::unique_ptr<ITimingCache> empty(session.config->createTimingCache(nullptr, 0));
  EXPECT_TRUE(empty->combine(*copy, false));
  EXPECT_EQ(empty->queryKeys(nullptr, 0), count);
  EXPECT_TRUE(empty->reset());
  EXPECT_EQ(empty->queryKeys(nullptr, 0), 0);
  EXPECT_EQ(session.config->createTimingCache("nonsense", 8), nullptr);
  EXPECT_FALSE(session.log.text().empty());
}

TEST(Runtime, LoadsTheRuntimeOfALibrary) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  Dl_info own{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&createInferRuntime_INTERNAL), &own), 0);
  const std::unique_ptr<IRuntime> other(session.runtime->loadRuntime(own.dli_fname));
  ASSERT_NE(other, nullptr) << session.log.text();
  const std::unique_ptr<ICudaEngine> engine(
      other->deserializeCudaEngine(session.plan->data(), session.plan->size()));
  EXPECT_NE(engine, nullptr) << session.log.text();
  EXPECT_EQ(session.runtime->loadRuntime("/none/runtime.so"), nullptr);
  EXPECT_TRUE(session.log.complained("loadRuntime: /none/runtime.so"));
  EXPECT_EQ(session.runtime->loadRuntime("libm.so.6"), nullptr);
  EXPECT_TRUE(session.log.complained("'libm.so.6' makes no runtime"));
  EXPECT_EQ(session.runtime->loadRuntime(nullptr), nullptr);
  EXPECT_TRUE(session.log.complained("no path"));
}

TEST(Config, RefusalsHaveReasons) {
  const auto refused = [](const char* words, auto&& set) {
    Dynamic session;
    set(*session.config);
    EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
    EXPECT_TRUE(session.log.complained(words));
  };
  refused("DLA", [](IBuilderConfig& c) { c.setDefaultDeviceType(DeviceType::kDLA); });
  refused("safety", [](IBuilderConfig& c) { c.setEngineCapability(EngineCapability::kSAFETY); });
  refused("platform",
          [](IBuilderConfig& c) { c.setRuntimePlatform(RuntimePlatform::kWINDOWS_AMD64); });
  refused("exclude each other", [](IBuilderConfig& c) {
    c.setFlags(1U << static_cast<uint32_t>(BuilderFlag::kREFIT) |
               1U << static_cast<uint32_t>(BuilderFlag::kREFIT_IDENTICAL));
  });
  Dynamic session;
  session.config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
  ASSERT_TRUE(session.build());
  std::unique_ptr<ISerializationConfig> config(session.engine->createSerializationConfig());
  EXPECT_TRUE(config->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  EXPECT_EQ(session.engine->serializeWithConfig(*config), nullptr);
  EXPECT_TRUE(session.log.complained("kREFIT"));
}

TEST(Config, LayerPrecisionsAreObeyed) {
  // 1 + 2^-12 is not a number of 16 bits: only a layer in 32 bits keeps it.
  const auto result = [](bool obey) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {1, 64});
    auto* layer = session.network->addMatrixMultiply(
        *x, MatrixOperation::kNONE, *session.constant({64, 1}, F(64, 1 + 1.0F / 4096)),
        MatrixOperation::kNONE);
    layer->setName("exact");
    layer->setPrecision(DataType::kFLOAT);
    session.output(layer->getOutput(0), "y");
    session.config->setFlag(BuilderFlag::kBF16);
    if (obey) session.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    return session.run({{"x", floats({1, 64}, F(64, 1))}})["y"].values<float>()[0];
  };
  EXPECT_NEAR(result(true), 64 + 64.0F / 4096, 64 * kNear);
  // Without the constraint the build is free; where the processor computes in 16 bits it does.
  EXPECT_NEAR(result(false), 64, 0.1);
}

TEST(Config, LayerTypesThatAreNotAllowedAreRefused) {
  const auto build = [](BuilderFlag constraints, auto set, Log& log) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {1, 64});
    ILayer* layer = session.network->addActivation(*x, ActivationType::kTANH);
    layer->setName("named");
    set(*layer);
    session.output(layer->getOutput(0), "y");
    session.config->setFlag(constraints);
    const std::unique_ptr<IHostMemory> plan(
        session.builder->buildSerializedNetwork(*session.network, *session.config));
    log.errors = session.log.errors;
    return plan != nullptr;
  };
  const auto obey = BuilderFlag::kOBEY_PRECISION_CONSTRAINTS;
  const auto prefer = BuilderFlag::kPREFER_PRECISION_CONSTRAINTS;
  Log log;
  for (const DataType type : {DataType::kHALF, DataType::kBF16, DataType::kINT8}) {
    EXPECT_FALSE(build(
        obey, [&](ILayer& layer) { layer.setPrecision(type); }, log));
    EXPECT_TRUE(log.complained("'named' is to compute in"));
    EXPECT_FALSE(build(
        prefer, [&](ILayer& layer) { layer.setOutputType(0, type); }, log));
    EXPECT_TRUE(log.complained("which the configuration does not allow"));
  }
  const auto as_it_is = [](ILayer& layer) { layer.setOutputType(0, DataType::kFLOAT); };
  EXPECT_TRUE(build(obey, as_it_is, log)) << log.text();
}

TEST(Plan, BatchesOfNothingRun) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 3, 8, 8});
  auto* conv =
      session.network->addConvolutionNd(*x, 4, dims({3, 3}), session.weights(F(4 * 3 * 9, 1)), {});
  auto* mean = session.network->addReduce(*conv->getOutput(0), ReduceOperation::kAVG, 12, false);
  auto* product = session.network->addMatrixMultiply(*mean->getOutput(0), MatrixOperation::kNONE,
                                                     *session.constant({4, 2}, F(8, 1)),
                                                     MatrixOperation::kNONE);
  session.output(product->getOutput(0), "y");
  session.profile("x", {0, 3, 8, 8}, {2, 3, 8, 8}, {4, 3, 8, 8});
  ASSERT_TRUE(session.build());
  // An empty tensor may lie nowhere.
  ASSERT_TRUE(session.context->setInputShape("x", dims({0, 3, 8, 8})));
  EXPECT_EQ(extents_of(session.context->getTensorShape("y")), (std::vector<int64_t>{0, 2}));
  EXPECT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  ASSERT_TRUE(session.context->setInputShape("x", dims({1, 3, 8, 8})));
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("has no address"));
  F in(192, 1), out(2);
  ASSERT_TRUE(session.context->setTensorAddress("x", in.data()));
  ASSERT_TRUE(session.context->setTensorAddress("y", out.data()));
  ASSERT_TRUE(session.context->enqueueV3(nullptr));
  EXPECT_EQ(out, (F{108, 108}));
}

TEST(Plan, DamageIsNoticed) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  std::vector<char> bytes(session.plan->size());
  std::memcpy(bytes.data(), session.plan->data(), bytes.size());
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_EQ(session.runtime->deserializeCudaEngine(bytes.data(), bytes.size()), nullptr);
  EXPECT_FALSE(session.log.text().empty());
  EXPECT_EQ(session.runtime->deserializeCudaEngine(bytes.data(), 10), nullptr);
  EXPECT_EQ(session.runtime->deserializeCudaEngine(nullptr, 10), nullptr);
}

TEST(Plan, TwoContextsAreIndependent) {
  Dynamic session;
  ASSERT_TRUE(session.build());
  std::unique_ptr<IExecutionContext> other(session.engine->createExecutionContext());
  F x1 = {1, 0, 0, 0}, x2 = {0, 1, 0, 0, 0, 0, 1, 0}, y1(16), y2(32);
  EXPECT_TRUE(session.context->setInputShape("x", dims({1, 4})));
  EXPECT_TRUE(other->setInputShape("x", dims({2, 4})));
  void *first[] = {x1.data(), y1.data()}, *second[] = {x2.data(), y2.data()};
  EXPECT_TRUE(session.context->executeV2(first));
  EXPECT_TRUE(other->executeV2(second));
  const F before = y1;
  EXPECT_TRUE(session.context->executeV2(first));
  EXPECT_EQ(before, y1);
}

TEST(Builder, SaysWhatItIs) {
  Session session;
  EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
  EXPECT_EQ(session.builder->getNbDLACores(), 0);
  EXPECT_FALSE(session.builder->setMaxThreads(0));
  EXPECT_TRUE(session.builder->setMaxThreads(2));
  EXPECT_EQ(session.builder->getMaxThreads(), 2);
  EXPECT_EQ(session.builder->getLogger(), &session.log);
  EXPECT_EQ(&session.network->getBuilder(), session.builder.get());
}

TEST(Profile, IsChecked) {
  Session session;
  session.input("x", DataType::kFLOAT, {-1, 4});
  IOptimizationProfile* profile = session.builder->createOptimizationProfile();
  EXPECT_FALSE(profile->setDimensions(nullptr, OptProfileSelector::kMIN, dims({1, 4})));
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMIN, dims({4, 4})));
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 4})));
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMAX, dims({8, 4})));
  EXPECT_FALSE(profile->isValid());
  EXPECT_EQ(session.config->addOptimizationProfile(profile), -1);
  EXPECT_TRUE(session.log.complained(
      "at input 'x': each input needs min, opt and max of as many axes, with min <= opt <= max"));
  EXPECT_EQ(session.config->addOptimizationProfile(nullptr), -1);
}

/// Ends of several inputs need not go together, where the optimum does.
TEST(Profile, EndsThatCannotRunAreToldOf) {
  Session session;
  ITensor* inputs[] = {session.input("a", DataType::kFLOAT, {-1, -1}),
                       session.input("b", DataType::kFLOAT, {-1, -1})};
  IShuffleLayer* eights =
      session.network->addShuffle(*session.network->addConcatenation(inputs, 2)->getOutput(0));
  eights->setReshapeDimensions(dims({8, -1}));
  session.output(eights->getOutput(0), "y");
  IOptimizationProfile* profile = session.builder->createOptimizationProfile();
  for (const auto& [name, columns, rows] : {std::tuple("a", 3, 4), std::tuple("b", 4, 5)}) {
    profile->setDimensions(name, OptProfileSelector::kMIN, dims({1, columns}));
    profile->setDimensions(name, OptProfileSelector::kOPT, dims({2, 4}));
    profile->setDimensions(name, OptProfileSelector::kMAX, dims({rows, 4}));
  }
  ASSERT_EQ(session.config->addOptimizationProfile(profile), 0);
  ASSERT_TRUE(session.build());
  ASSERT_EQ(session.log.warnings.size(), 2U) << session.log.text();
  EXPECT_NE(session.log.warnings[0].find("kMIN shapes cannot run"), std::string::npos);
  EXPECT_NE(session.log.warnings[0].find("must be equal"), std::string::npos);
  EXPECT_NE(session.log.warnings[1].find("kMAX shapes cannot run"), std::string::npos);
}

}  // namespace
}  // namespace api_test
