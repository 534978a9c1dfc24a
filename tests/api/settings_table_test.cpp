// Every flag and setter of IBuilderConfig behaves as its table says: it has an effect, or a build
// that has it says why it has none, or it is refused. Values that make no sense change nothing.
#include <tenon/inspect.h>
#include <tenon/numerics.h>
#include <tenon/precision.h>
#include <tenon/progress.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "harness.h"
#include "recorder.h"

namespace api_test {
namespace {

enum class Support { kWorks, kNoEffect, kRefused };

struct FlagRow {
  BuilderFlag flag;
  std::string name;
  Support support;
  std::string text;
};
const FlagRow kFlags[] = {
#define TENON_BUILDER_FLAG(name, support, text) {BuilderFlag::name, #name, Support::support, text},
#include "../../src/api/builder_flags.def"
};

struct SettingRow {
  std::string name;
  int64_t least, largest, usual;
  Support support;
  std::string text;
  std::function<void(IBuilderConfig&, int64_t)> set;
  std::function<int64_t(IBuilderConfig&)> get;
};
template <class C, class R, class P> auto setter(R (C::*set)(P) noexcept) {
  return [set](IBuilderConfig& c, int64_t value) { (c.*set)(static_cast<P>(value)); };
}
const SettingRow kSettings[] = {
#define TENON_BUILDER_SETTING(Name, least, largest, usual, support, text) \
  {#Name,                                                                 \
   least,                                                                 \
   largest,                                                               \
   usual,                                                                 \
   Support::support,                                                      \
   text,                                                                  \
   setter(&IBuilderConfig::set##Name),                                    \
   [](IBuilderConfig& c) { return static_cast<int64_t>(c.get##Name()); }},
#include "../../src/api/builder_settings.def"
};

/// y = relu(x w), which quantization, precisions and refits may all change.
class Product : public Session {
 public:
  explicit Product(NetworkDefinitionCreationFlags flags = 0) : Session(flags) {
    ITensor* w = constant({64, 64}, std::vector<float>(64 * 64, 0.37F));
    ITensor* x = input("x", DataType::kFLOAT, {64, 64});
    IMatrixMultiplyLayer* product =
        network->addMatrixMultiply(*x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE);
    product->setName("product");
    output(network->addActivation(*product->getOutput(0), ActivationType::kRELU)->getOutput(0),
           "y");
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  }
  bool warned(const std::string& words) const {
    for (const std::string& warning : log.warnings)
      if (warning.find(words) != std::string::npos) return true;
    return false;
  }
  bool builds() {
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    return plan != nullptr;
  }
  std::string layers() {
    if (!build()) return {};
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    return inspector->getEngineInformation(LayerInformationFormat::kJSON);
  }
};

std::string plan_with(const std::function<void(Product&)>& change) {
  Product session;
  change(session);
  if (!session.builds()) return "failed: " + session.log.text();
  return {static_cast<const char*>(session.plan->data()), session.plan->size()};
}
std::string plan_with_flag(BuilderFlag flag) {
  return plan_with([flag](Product& s) { s.config->setFlag(flag); });
}

/// Without arithmetic of 16 bits these flags are answered with a remark.
bool has_16_bits() {
  Session session;
  return session.builder->platformHasFastFp16();
}
bool changes_the_plan(BuilderFlag flag) {
  if (!has_16_bits()) {
    Product session;
    session.config->setFlag(flag);
    return session.builds() && session.warned("no 16-bit arithmetic");
  }
  return plan_with_flag(flag) != plan_with([](Product&) {});
}
bool is_refittable(BuilderFlag flag) {
  Product session;
  session.config->setFlag(flag);
  return session.build() && session.engine->isRefittable();
}
bool is_told_of(BuilderFlag flag) {
  Product session;
  session.config->setFlag(flag);
  return session.builds() && session.warned("is allowed, but no layer uses it");
}
bool is_told_of_sparsity() {
  Session session;
  ITensor* x = session.network->addInput("x", DataType::kFLOAT, dims({2, 8}));
  session.network->markOutput(
      *session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0));
  session.config->setFlag(BuilderFlag::kSPARSE_WEIGHTS);
  return session.build() && session.log.warnings.size() == 1 &&
         session.log.warnings[0].starts_with("Sparse weights are allowed, but no layer uses them");
}
/// A layer that may compute in FP32 alone keeps it where FP16 is allowed.
bool binds(BuilderFlag flag) {
  const auto build = [&](bool with) {
    return plan_with([&](Product& s) {
      s.config->setFlag(BuilderFlag::kFP16);
      s.network->getLayer(1)->setPrecision(DataType::kFLOAT);
      if (with) s.config->setFlag(flag);
    });
  };
  return !has_16_bits() || build(true) != build(false);
}

/// How the effect of each flag that works is seen.
const std::map<BuilderFlag, std::function<bool()>> kEffects = {
    {BuilderFlag::kFP16, [] { return changes_the_plan(BuilderFlag::kFP16); }},
    {BuilderFlag::kSPARSE_WEIGHTS, [] { return is_told_of_sparsity(); }},
    {BuilderFlag::kBF16, [] { return changes_the_plan(BuilderFlag::kBF16); }},
    {BuilderFlag::kINT8, [] { return is_told_of(BuilderFlag::kINT8); }},
    {BuilderFlag::kFP8, [] { return is_told_of(BuilderFlag::kFP8); }},
    {BuilderFlag::kINT4, [] { return is_told_of(BuilderFlag::kINT4); }},
    {BuilderFlag::kREFIT, [] { return is_refittable(BuilderFlag::kREFIT); }},
    {BuilderFlag::kREFIT_IDENTICAL, [] { return is_refittable(BuilderFlag::kREFIT_IDENTICAL); }},
    {BuilderFlag::kREFIT_INDIVIDUAL, [] { return is_refittable(BuilderFlag::kREFIT_INDIVIDUAL); }},
    {BuilderFlag::kSTRIP_PLAN,
     [] {
       return plan_with_flag(BuilderFlag::kSTRIP_PLAN).size() + 64 * 64 * 4 <=
              plan_with_flag(BuilderFlag::kREFIT).size();
     }},
    {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS,
     [] { return binds(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS); }},
    {BuilderFlag::kPREFER_PRECISION_CONSTRAINTS,
     [] { return binds(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS); }},
    // It is set from the beginning; products of GPUs alone differ, and plans record it.
    {BuilderFlag::kTF32,
     [] {
       return plan_with([](Product& s) { s.config->clearFlag(BuilderFlag::kTF32); }) !=
              plan_with([](Product&) {});
     }},
    {BuilderFlag::kVERSION_COMPATIBLE,
     [] {
       Product session;
       session.config->setFlag(BuilderFlag::kVERSION_COMPATIBLE);
       const auto packs = [](const std::string& plan) {
         return plan.find("packing") != std::string::npos;
       };
       return packs(plan_with([](Product&) {})) &&
              !packs(plan_with_flag(BuilderFlag::kVERSION_COMPATIBLE)) && session.build();
     }},
    {BuilderFlag::kMONITOR_MEMORY,
     [] {
       class Notes final : public ILogger {
        public:
         void log(Severity, const char* message) noexcept override { text += message; }
         std::string text;
       } notes;
       const std::unique_ptr<IBuilder> builder(createInferBuilder(notes));
       const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
       const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
       tenon::setBuildDevice(*config, tenon::kCpuDevice);
       ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2}));
       network->markOutput(*network->addIdentity(*x)->getOutput(0));
       config->setFlag(BuilderFlag::kMONITOR_MEMORY);
       const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
       return notes.text.find("[MemUsageStats] Peak memory usage") != std::string::npos;
     }},
    {BuilderFlag::kERROR_ON_TIMING_CACHE_MISS,
     [] {
       // Without a cache it is told of.
       Product session;
       session.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
       return session.builds() && session.warned("no timing cache");
     }},
    {BuilderFlag::kWEIGHT_STREAMING,
     [] {
       Product session(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
       session.config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
       return session.build() && session.engine->getStreamableWeightsSize() >= 64 * 64 * 4;
     }},
    {BuilderFlag::kREJECT_EMPTY_ALGORITHMS,
     [] {
       class Undecided final : public IAlgorithmSelector {
         int32_t selectAlgorithms(const IAlgorithmContext&, const IAlgorithm* const*, int32_t,
                                  int32_t*) noexcept override {
           return 0;
         }
         void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*,
                               int32_t) noexcept override {}
       } undecided;
       Product session;
       session.config->setAlgorithmSelector(&undecided);
       const bool usual = session.builds();
       session.config->setFlag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS);
       return usual && !session.builds() && session.log.complained("kREJECT_EMPTY_ALGORITHMS");
     }},
    {BuilderFlag::kDIRECT_IO,
     [] {
       Product session;
       ITensor* image = session.input("image", DataType::kFLOAT, {1, 2, 2});
       session.output(session.network->addIdentity(*image)->getOutput(0), "copy");
       image->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kHWC));
       const bool usual = session.builds();
       session.config->setFlag(BuilderFlag::kDIRECT_IO);
       return usual && !session.builds() && session.log.complained("kDIRECT_IO");
     }},
    // Of the timing cache: FlagsOfTheTimingCache.
    {BuilderFlag::kDISABLE_TIMING_CACHE, [] { return true; }},
    {BuilderFlag::kEDITABLE_TIMING_CACHE, [] { return true; }},
};

TEST(SettingsTable, TheEnvironmentMayForbidTf32) {
  const auto without = plan_with([](Product& s) { s.config->clearFlag(BuilderFlag::kTF32); });
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  const auto forbidden = plan_with([](Product&) {});
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_EQ(forbidden, without);
  EXPECT_NE(plan_with([](Product&) {}), without);
}

TEST(SettingsTable, FlagsAreThereOnceEach) {
  // Old names count in EnumMax.
  EXPECT_EQ(std::size(kFlags), static_cast<size_t>(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE) + 1);
  for (size_t i = 0; i < std::size(kFlags); ++i)
    EXPECT_EQ(static_cast<size_t>(kFlags[i].flag), i) << kFlags[i].name;
}

TEST(SettingsTable, FlagsDoWhatTheirRowsSay) {
  for (const FlagRow& row : kFlags) {
    SCOPED_TRACE(row.name);
    if (row.support == Support::kWorks) {
      const auto effect = kEffects.find(row.flag);
      ASSERT_NE(effect, kEffects.end()) << "no effect of this flag is looked at";
      EXPECT_TRUE(effect->second());
      continue;
    }
    EXPECT_EQ(kEffects.count(row.flag), 0U);
    Product session;
    session.config->setFlag(row.flag);
    EXPECT_EQ(session.builds(), row.support == Support::kNoEffect);
    if (row.support == Support::kNoEffect)
      EXPECT_TRUE(session.warned(row.text));
    else
      EXPECT_TRUE(session.log.complained(row.text));
  }
}

TEST(SettingsTable, NumbersOutsideOfTheirRangeChangeNothing) {
  for (const SettingRow& row : kSettings) {
    SCOPED_TRACE(row.name);
    Product session;
    Recorder recorder;
    session.builder->setErrorRecorder(&recorder);
    EXPECT_EQ(row.get(*session.config), row.name == "ProfilingVerbosity" ? 2 : row.usual);
    const int64_t before = row.get(*session.config);
    const int64_t below = row.least - 1;
    row.set(*session.config, below);
    EXPECT_EQ(row.get(*session.config), before);
    EXPECT_EQ(recorder.errors.size(), 1U);
    if (row.largest < INT32_MAX) {
      row.set(*session.config, row.largest + 12);
      EXPECT_EQ(row.get(*session.config), before);
      EXPECT_EQ(recorder.errors.size(), 2U);
    }
    for (const auto& [code, text] : recorder.errors)
      EXPECT_NE(text.find("set" + row.name), std::string::npos) << text;
    EXPECT_TRUE(session.builds()) << session.log.text();
    session.builder->setErrorRecorder(nullptr);
  }
}

TEST(SettingsTable, SettersDoWhatTheirRowsSay) {
  for (const SettingRow& row : kSettings) {
    if (row.support == Support::kWorks) continue;
    SCOPED_TRACE(row.name);
    Product session;
    row.set(*session.config, row.usual + 1);
    EXPECT_EQ(row.get(*session.config), row.usual + 1);
    EXPECT_EQ(session.builds(), row.support == Support::kNoEffect);
    if (row.support == Support::kNoEffect)
      EXPECT_TRUE(session.warned("set" + row.name + " has no effect: " + row.text));
    else
      EXPECT_TRUE(session.log.complained(row.text));
  }
}

TEST(SettingsTable, FlagsThatAreNoneAreErrors) {
  Session s;
  s.config->setFlags(1U << 30);
  EXPECT_TRUE(s.log.complained("setFlags"));
  s.config->setFlag(static_cast<BuilderFlag>(31));
  EXPECT_TRUE(s.log.complained("setFlag"));
  EXPECT_EQ(s.config->getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kTF32));
  s.config->setMemoryPoolLimit(static_cast<MemoryPoolType>(17), 1);
  EXPECT_TRUE(s.log.complained("there is no pool 17"));
  s.config->setPreviewFeature(static_cast<PreviewFeature>(17), true);
  EXPECT_TRUE(s.log.complained("there is no feature 17"));
  EXPECT_FALSE(s.builder->setMaxThreads(-2));
  EXPECT_TRUE(s.log.complained("setMaxThreads(-2)"));
  const char* none[] = {"/none/plugin.so"};
  s.config->setPluginsToSerialize(none, 1);
  EXPECT_TRUE(s.log.complained("there is no library '/none/plugin.so'"));
  EXPECT_EQ(s.config->getNbPluginsToSerialize(), 0);
}

TEST(SettingsTable, StronglyTypedNetworksHaveTheirOwnTypes) {
  const auto strong = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  for (const BuilderFlag flag :
       {BuilderFlag::kFP16, BuilderFlag::kBF16, BuilderFlag::kINT8, BuilderFlag::kFP8,
        BuilderFlag::kINT4, BuilderFlag::kFP4, BuilderFlag::kOBEY_PRECISION_CONSTRAINTS,
        BuilderFlag::kPREFER_PRECISION_CONSTRAINTS}) {
    Product session(strong);
    session.config->setFlag(flag);
    EXPECT_FALSE(session.builds());
    EXPECT_TRUE(session.log.complained("strongly typed"));
  }
  Product session(strong);
  session.network->getLayer(1)->setPrecision(DataType::kHALF);
  EXPECT_FALSE(session.builds());
  EXPECT_TRUE(session.log.complained("setPrecision cannot be used in a strongly typed network"));
  session.network->getLayer(1)->resetPrecision();
  session.network->getLayer(1)->setOutputType(0, DataType::kHALF);
  EXPECT_TRUE(session.log.complained("setOutputType requires a network that is not strongly"));
  EXPECT_FALSE(session.network->getLayer(1)->outputTypeIsSet(0));
  EXPECT_TRUE(session.builds());
}

/// Of four large images: two convolutions, one after the other.
class Images : public Session {
 public:
  Images() {
    ITensor* x = input("x", DataType::kFLOAT, {4, 16, 192, 192});
    for (int i = 0; i < 2; ++i)
      x = network
              ->addConvolutionNd(*x, 16, dims({3, 3}),
                                 weights(std::vector<float>(16 * 16 * 9, 0.01F)), {})
              ->getOutput(0);
    output(x, "y");
  }
  /// The steps of the plan that run for so many turns each.
  std::string turns() {
    if (!build()) return "failed: " + log.text();
    const std::unique_ptr<IHostMemory> steps(tenon::describeSteps(*context));
    const std::string text(static_cast<const char*>(steps->data()), steps->size());
    std::string found;
    for (size_t at = 0; (at = text.find(" samples [", at)) != std::string::npos; ++at)
      found += text.substr(at, text.find(']', at) + 1 - at);
    return found;
  }
};

TEST(SettingsTable, ALimitOfTilingKeepsLargeLayersWhole) {
  const auto turns = [](int64_t limit) {
    Images session;
    EXPECT_TRUE(session.config->setL2LimitForTiling(limit));
    return session.turns();
  };
  const std::string usual = turns(-1);
  EXPECT_EQ(usual, " samples [4] samples [4]");
  EXPECT_EQ(turns(int64_t{1} << 30), usual);
  EXPECT_EQ(turns(1 << 20), "");
}

TEST(SettingsTable, HigherLevelsOfTilingTimeMore) {
  class Notes final : public ILogger {
   public:
    void log(Severity, const char* message) noexcept override {
      if (std::string(message).starts_with("Tiling: ")) text = message;
    }
    std::string text;
  };
  const auto told = [](TilingOptimizationLevel level, int64_t limit) {
    Images session;
    Notes notes;
    const std::unique_ptr<IBuilder> builder(createInferBuilder(notes));
    EXPECT_TRUE(session.config->setTilingOptimizationLevel(level));
    EXPECT_TRUE(session.config->setL2LimitForTiling(limit));
    const std::unique_ptr<IHostMemory> plan(
        builder->buildSerializedNetwork(*session.network, *session.config));
    EXPECT_NE(plan, nullptr);
    return std::ranges::count(notes.text, ',') + (notes.text.empty() ? 0 : 1);
  };
  EXPECT_EQ(told(TilingOptimizationLevel::kNONE, -1), 0);
  EXPECT_EQ(told(TilingOptimizationLevel::kFAST, -1), 2);
  EXPECT_EQ(told(TilingOptimizationLevel::kMODERATE, -1), 3);
  EXPECT_EQ(told(TilingOptimizationLevel::kFULL, -1), 3) << "turns of all four are no other way";
  EXPECT_EQ(told(TilingOptimizationLevel::kFULL, 0), 1) << "the limit leaves whole batches";
}

TEST(SettingsTable, PlansForTheCpuAreForNoFamilyOfGpus) {
  Product session;
  session.config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
  tenon::setBuildDevice(*session.config, tenon::kCpuDevice);
  ASSERT_TRUE(session.build());
  EXPECT_TRUE(session.warned("kAMPERE_PLUS has no effect: the plan is for the CPU"));
  EXPECT_EQ(session.engine->getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
}

TEST(SettingsTable, CompatibilityOfHardwareIsReported) {
  Product session;
  session.config->setHardwareCompatibilityLevel(
      HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY);
  ASSERT_TRUE(session.build());
  EXPECT_EQ(session.engine->getHardwareCompatibilityLevel(),
            HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY);
  Product usual;
  ASSERT_TRUE(usual.build());
  EXPECT_EQ(usual.engine->getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
}

/// Convolutions, which several kernels take.
class Convolution : public Session {
 public:
  Convolution() {
    ITensor* x = input("x", DataType::kFLOAT, {1, 16, 28, 28});
    output(network
               ->addConvolutionNd(*x, 16, dims({3, 3}),
                                  weights(std::vector<float>(16 * 16 * 9, 0.01F)), {})
               ->getOutput(0),
           "y");
    cache.reset(config->createTimingCache(nullptr, 0));
    config->setTimingCache(*cache, false);
    config->setFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  }
  std::unique_ptr<ITimingCache> cache;
};

TEST(SettingsTable, FlagsOfTheTimingCache) {
  Convolution session;
  session.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  session.plan.reset(session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(session.plan, nullptr);
  EXPECT_TRUE(session.log.complained("timing cache miss"));
  session.config->clearFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  ASSERT_TRUE(session.build());
  session.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  ASSERT_TRUE(session.build()) << "measured times are known";
  // Made-up times decide, unless the cache is not to be looked at.
  std::vector<TimingCacheKey> keys(static_cast<size_t>(session.cache->queryKeys(nullptr, 0)));
  ASSERT_GT(keys.size(), 0U);
  session.cache->queryKeys(keys.data(), static_cast<int64_t>(keys.size()));
  session.config->setFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
  session.config->clearFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  for (const TimingCacheKey& key : keys) {
    TimingCacheValue value = session.cache->query(key);
    EXPECT_LT(value.timingMSec, 1000) << "no number of bytes or candidates";
    value.timingMSec = 12345;
    EXPECT_TRUE(session.cache->update(key, value));
  }
  ASSERT_TRUE(session.build());
  EXPECT_EQ(session.cache->query(keys[0]).timingMSec, 12345) << "neither read nor written";
}

TEST(SettingsTable, ObjectsThatNothingAsksForAreToldOf) {
  Product session;
  session.config->setProfileStream(reinterpret_cast<cudaStream_t>(16));
  session.config->setDeviceType(session.network->getLayer(1), DeviceType::kGPU);
  session.config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  session.config->setRemoteAutoTuningConfig("ssh://somewhere");
  ASSERT_TRUE(session.builds());
  for (const char* setter :
       {"setProfileStream", "setDeviceType", "setPreviewFeature(1)", "setRemoteAutoTuningConfig"})
    EXPECT_TRUE(session.warned(std::string(setter) + " has no effect")) << setter;
}

TEST(SettingsTable, OwnSettersRefuseNonsense) {
  Session s;
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(tenon::setPrecisionBudget(*s.config, none));
  EXPECT_FALSE(tenon::setQuantizationBudget(*s.config, none));
  EXPECT_FALSE(tenon::setBuildBudget(*s.config, none));
  EXPECT_FALSE(tenon::setBuildBudget(*s.config, -1));
  EXPECT_FALSE(tenon::setNumerics(*s.config, static_cast<tenon::Numerics>(99)));
  EXPECT_EQ(tenon::getNumerics(*s.config), tenon::Numerics::kDefault);
  EXPECT_FALSE(tenon::setBuildDevice(*s.config, -7));
  EXPECT_FALSE(tenon::setBuildDeviceDescription(*s.config, nullptr));
  EXPECT_FALSE(tenon::setBuildDeviceDescription(*s.config, "no description"));
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(s.log));
  EXPECT_FALSE(tenon::setRunDevice(*runtime, -7));
}

TEST(SettingsTable, RuntimesAndContextsRefuseNonsense) {
  Product session;
  ASSERT_TRUE(session.build());
  session.runtime->setTempfileControlFlags(77);
  EXPECT_TRUE(session.log.complained("setTempfileControlFlags"));
  EXPECT_EQ(session.runtime->getTempfileControlFlags(), 3U);
  session.runtime->setDLACore(2);
  EXPECT_TRUE(session.log.complained("setDLACore(2)"));
  EXPECT_FALSE(session.context->setNvtxVerbosity(static_cast<ProfilingVerbosity>(9)));
  EXPECT_TRUE(session.log.complained("setNvtxVerbosity(9)"));
  session.context->setAuxStreams(nullptr, 2);
  EXPECT_TRUE(session.log.complained("setAuxStreams"));
  session.context->setPersistentCacheLimit(1 << 20);
  EXPECT_TRUE(session.warned("setPersistentCacheLimit has no effect"));
}

}  // namespace
}  // namespace api_test
