// Plugins that compute in 8 bits: the scales of their operands, and where these come from.
#include <algorithm>
#include <cmath>
#include <set>

#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using F = std::vector<float>;

/// What all objects of it were told.
struct Record {
  std::set<DataType> ran_in;
  std::set<std::pair<float, float>> ran_with;  ///< Scales of the input and the output, in 8 bits.
  std::pair<float, float> configured{};        ///< The same, the last time.
};
Record record;

/// y = 2 x, in reals or in 8 bits.
class Twice final : public plugin_test::Copier<Twice> {
 public:
  static constexpr const char* kName = "Twice";
  static inline std::set<DataType> types;
  static inline TensorFormat format = TensorFormat::kLINEAR;

  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t,
                          const DynamicPluginTensorDesc* out, int32_t) noexcept override {
    if (in[0].desc.type == DataType::kINT8)
      record.configured = {in[0].desc.scale, out[0].desc.scale};
    return 0;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    const PluginTensorDesc& tensor = all[pos].desc;
    return tensor.format == format && types.contains(tensor.type) &&
           tensor.type == all[0].desc.type;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    record.ran_in.insert(in[0].type);
    if (in[0].type == DataType::kINT8) record.ran_with.emplace(in[0].scale, out[0].scale);
    int64_t count = 1;
    for (int32_t i = 0; i < in[0].dims.nbDims; ++i) count *= in[0].dims.d[i];
    for (int64_t i = 0; i < count; ++i) {
      if (in[0].type == DataType::kFLOAT) {
        static_cast<float*>(outputs[0])[i] = 2 * static_cast<const float*>(inputs[0])[i];
        continue;
      }
      const float x = in[0].scale * static_cast<const int8_t*>(inputs[0])[i];
      const float y = std::clamp(std::round(2 * x / out[0].scale), -128.0F, 127.0F);
      static_cast<int8_t*>(outputs[0])[i] = static_cast<int8_t>(y);
    }
    return 0;
  }
};

constexpr float kIn = 0.5F, kOut = 0.25F;
constexpr float kRange = 127;

/// x and y are of floats; the plugin between them may get and give others.
struct TwiceSession : Session {
  explicit TwiceSession(std::set<DataType> types, NetworkDefinitionCreationFlags flags = 0,
                        const Dims& extents = Dims{1, {4}})
      : Session(flags), x(network->addInput("x", DataType::kFLOAT, extents)) {
    record = {};
    Twice::types = std::move(types);
    config->setFlag(BuilderFlag::kINT8);
    // From level 3 on it would be timed against floating point.
    config->setBuilderOptimizationLevel(2);
  }
  ITensor* twice(ITensor* of) {
    layer = network->addPluginV3(&of, 1, nullptr, 0, plugin);
    layer->setName("twice");
    return layer->getOutput(0);
  }
  ITensor* quantized(ITensor* of, float scale) {
    return network->addQuantize(*of, *constant({}, {scale}), DataType::kINT8)->getOutput(0);
  }
  ITensor* dequantized(ITensor* of, float scale) {
    return network->addDequantize(*of, *constant({}, {scale}), DataType::kFLOAT)->getOutput(0);
  }
  bool plans() {
    return std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config)) !=
           nullptr;
  }
  void expect_bytes(float out_scale = kOut) {
    const Arrays y = run({{"x", floats({4}, {1, -2.5F, 3, 100})}});
    ASSERT_TRUE(y.contains("y")) << log.text();
    EXPECT_EQ(record.ran_in, std::set<DataType>{DataType::kINT8});
    EXPECT_EQ(record.ran_with, (std::set<std::pair<float, float>>{{kIn, out_scale}}));
    EXPECT_EQ(record.configured, std::pair(kIn, out_scale));
    // The last one is beyond what the input's scale can say, and its double beyond the output's.
    EXPECT_EQ(y.at("y").values<float>(), (F{2, -5, 6, 127 * out_scale}));
  }
  plugin_test::Registered<plugin_test::StatelessCreator<Twice>> creator{""};
  Twice plugin;
  ITensor* x;
  ILayer* layer = nullptr;
};

constexpr NetworkDefinitionCreationFlags kStrong =
    1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

TEST(PluginScales, AreThoseOfTheLayersAroundIt) {
  for (const NetworkDefinitionCreationFlags flags : {NetworkDefinitionCreationFlags(0), kStrong}) {
    TwiceSession session({DataType::kINT8}, flags);
    if (flags == kStrong) session.config->clearFlag(BuilderFlag::kINT8);
    ITensor* bytes = session.twice(session.quantized(session.x, kIn));
    session.output(session.dequantized(bytes, kOut), "y");
    session.expect_bytes();
  }
}

TEST(PluginScales, AreThoseOfAPairAcrossMovedBytes) {
  TwiceSession session({DataType::kINT8});
  auto* moved = session.network->addShuffle(*session.quantized(session.x, kIn));
  moved->setReshapeDimensions(Dims2(2, 2));
  auto* back = session.network->addShuffle(*session.twice(moved->getOutput(0)));
  back->setReshapeDimensions(dims({4}));
  session.output(session.dequantized(back->getOutput(0), kOut), "y");
  session.expect_bytes();
}

TEST(PluginScales, GoFromOnePluginToTheNext) {
  TwiceSession session({DataType::kINT8});
  session.x->setDynamicRange(-kIn * kRange, kIn * kRange);
  ITensor* first = session.twice(session.x);
  first->setDynamicRange(-kIn * kRange, kIn * kRange);
  ITensor* second = session.twice(first);
  second->setDynamicRange(-kIn * kRange, kIn * kRange);
  session.output(second, "y");
  const Arrays y = session.run({{"x", floats({4}, {1, -2.5F, 3, 10})}});
  ASSERT_TRUE(y.contains("y")) << session.log.text();
  EXPECT_EQ(record.ran_with, (std::set<std::pair<float, float>>{{kIn, kIn}}));
  EXPECT_EQ(y.at("y").values<float>(), (F{4, -10, 12, 40}));
}

TEST(PluginScales, OfALayerAskedForInt8ReplaceThePairsAroundIt) {
  TwiceSession session({DataType::kFLOAT, DataType::kINT8});
  ITensor* y = session.twice(session.dequantized(session.quantized(session.x, kIn), kIn));
  session.layer->setPrecision(DataType::kINT8);
  session.output(session.dequantized(session.quantized(y, kOut), kOut), "y");
  session.expect_bytes();
}

/// Without setPrecision, pairs around a plugin that takes reals stay around it.
TEST(PluginScales, AreNotLookedForWhereThePluginTakesReals) {
  TwiceSession session({DataType::kFLOAT, DataType::kINT8});
  ITensor* y = session.twice(session.dequantized(session.quantized(session.x, kIn), kIn));
  session.output(session.dequantized(session.quantized(y, kOut), kOut), "y");
  const Arrays results = session.run({{"x", floats({4}, {1, -2.5F, 3, 10})}});
  ASSERT_TRUE(results.contains("y")) << session.log.text();
  EXPECT_EQ(record.ran_in, std::set<DataType>{DataType::kFLOAT});
}

TEST(PluginScales, FollowDynamicRanges) {
  for (const auto& types : {std::set{DataType::kINT8}, std::set{DataType::kINT8, DataType::kFLOAT},
                            std::set{DataType::kINT8, DataType::kFLOAT, DataType::kHALF}}) {
    TwiceSession session(types);
    session.x->setDynamicRange(-kIn * kRange, kIn * kRange);
    ITensor* y = session.twice(session.x);
    y->setDynamicRange(-kOut * kRange, kOut * kRange);
    session.output(y, "y");
    if (types.contains(DataType::kHALF)) session.config->setFlag(BuilderFlag::kFP16);
    session.expect_bytes();
  }
}

TEST(PluginScales, FollowRangesIntoVectorFormats) {
  TwiceSession session({DataType::kINT8}, 0, Dims4(1, 32, 1, 2));
  session.x->setDynamicRange(-kIn * kRange, kIn * kRange);
  Twice::format = TensorFormat::kCHW32;
  ITensor* y = session.twice(session.x);
  y->setDynamicRange(-kIn * kRange, kIn * kRange);
  session.output(y, "y");
  F values(64), doubles(64);
  for (size_t i = 0; i < 64; ++i)
    values[i] = static_cast<float>(i % 20), doubles[i] = 2 * values[i];
  const Arrays results = session.run({{"x", floats({1, 32, 1, 2}, values)}});
  Twice::format = TensorFormat::kLINEAR;
  ASSERT_TRUE(results.contains("y")) << session.log.text();
  EXPECT_EQ(results.at("y").values<float>(), doubles);
}

TEST(PluginScales, ThatAreMissingAreNamed) {
  TwiceSession session({DataType::kINT8});
  session.x->setDynamicRange(-1, 1);
  session.output(session.twice(session.x), "y");
  EXPECT_FALSE(session.plans());
  EXPECT_TRUE(session.log.complained("'y'"));
}

TEST(PluginScales, NeedTheFlag) {
  TwiceSession session({DataType::kINT8});
  session.config->clearFlag(BuilderFlag::kINT8);
  session.x->setDynamicRange(-1, 1);
  ITensor* y = session.twice(session.x);
  y->setDynamicRange(-1, 1);
  session.output(y, "y");
  EXPECT_FALSE(session.plans());
  EXPECT_TRUE(session.log.complained("kINT8"));
}

}  // namespace
}  // namespace api_test
