// Plugins that take other formats than linear, and the bounds that they are configured with.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "harness.h"
#include "plugins.h"

namespace api_test {
namespace {

using F = std::vector<float>;

/// A channel of a tensor of 4 axes, as it lies in a buffer of that format.
int64_t place_of(const PluginTensorDesc& tensor, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t channels = tensor.dims.d[1], height = tensor.dims.d[2], width = tensor.dims.d[3];
  if (tensor.format == TensorFormat::kHWC) return ((n * height + h) * width + w) * channels + c;
  const int64_t vector = tensor.format == TensorFormat::kCHW32  ? 32
                         : tensor.format == TensorFormat::kHWC8 ? 8
                         : tensor.format == TensorFormat::kCHW4 ? 4
                         : tensor.format == TensorFormat::kCHW2 ? 2
                                                                : 1;
  const int64_t vectors = (channels + vector - 1) / vector;
  if (tensor.format == TensorFormat::kHWC8)
    return ((n * height + h) * width + w) * vectors * vector + c;
  return (((n * vectors + c / vector) * height + h) * width + w) * vector + c % vector;
}

/// What all objects of it were told, which the test looks at.
struct Record {
  std::set<std::pair<int32_t, int32_t>> asked;  ///< Types and formats of the first operand.
  /// Inputs, then outputs, of calls with extents that are not known.
  std::vector<std::vector<DynamicPluginTensorDesc>> configured_open;
  std::set<int32_t> ran_in;  ///< Formats of the first operand of enqueue().
  std::set<std::pair<int32_t, int32_t>> ran_from_to;  ///< Of both operands.
  std::set<int32_t> ran_types;
  bool padding_is_zero = true;
};
Record record;

/// y = x, where x and y are of one type and of given formats, as bits of a mask.
class Formatted final : public plugin_test::Copier<Formatted> {
 public:
  static constexpr const char* kName = "Formatted";
  static inline uint32_t input_formats = 1, output_formats = 1;
  static inline std::set<DataType> types = {DataType::kFLOAT};

  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs,
                          const DynamicPluginTensorDesc* out, int32_t outputs) noexcept override {
    const Dims& dims = in[0].desc.dims;
    if (std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent < 0; })) {
      auto& all = record.configured_open.emplace_back(in, in + inputs);
      all.insert(all.end(), out, out + outputs);
    }
    return 0;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    const PluginTensorDesc& tensor = all[pos].desc;
    const auto format = static_cast<int32_t>(tensor.format);
    if (pos == 0) record.asked.emplace(static_cast<int32_t>(tensor.type), format);
    return types.contains(tensor.type) && tensor.type == all[0].desc.type &&
           ((pos == 0 ? input_formats : output_formats) >> format & 1U) != 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    record.ran_in.insert(static_cast<int32_t>(in[0].format));
    record.ran_from_to.emplace(static_cast<int32_t>(in[0].format),
                               static_cast<int32_t>(out[0].format));
    record.ran_types.insert(static_cast<int32_t>(in[0].type));
    const auto bytes = static_cast<size_t>(bytes_of(in[0].type));
    const Dims& dims = in[0].dims;
    std::set<int64_t> used;
    int64_t largest = 0;
    for (int64_t n = 0; n < dims.d[0]; ++n)
      for (int64_t c = 0; c < dims.d[1]; ++c)
        for (int64_t h = 0; h < dims.d[2]; ++h)
          for (int64_t w = 0; w < dims.d[3]; ++w) {
            const int64_t from = place_of(in[0], n, c, h, w), to = place_of(out[0], n, c, h, w);
            std::memcpy(static_cast<char*>(outputs[0]) + static_cast<size_t>(to) * bytes,
                        static_cast<const char*>(inputs[0]) + static_cast<size_t>(from) * bytes,
                        bytes);
            used.insert(from);
            largest = std::max(largest, from);
          }
    for (int64_t i = 0; i < largest; ++i)
      for (size_t k = 0; k < bytes && !used.contains(i); ++k)
        record.padding_is_zero &=
            static_cast<const char*>(inputs[0])[static_cast<size_t>(i) * bytes + k] == 0;
    return 0;
  }
};

uint32_t bit(TensorFormat format) {
  return 1U << static_cast<uint32_t>(format);
}

struct FormattedSession : Session {
  FormattedSession(uint32_t in, uint32_t out, std::set<DataType> types, const Dims& dims = kDims,
                   DataType type = DataType::kFLOAT, NetworkDefinitionCreationFlags flags = 0)
      : Session(flags) {
    record = {};
    Formatted::input_formats = in;
    Formatted::output_formats = out;
    Formatted::types = std::move(types);
    ITensor* x[] = {network->addInput("x", type, dims)};
    output(network->addPluginV3(x, 1, nullptr, 0, plugin)->getOutput(0), "y");
  }
  static constexpr Dims kDims{4, {2, 5, 3, 4}};
  plugin_test::Registered<plugin_test::StatelessCreator<Formatted>> creator{""};
  Formatted plugin;
};

F counted() {
  F values(2 * 5 * 3 * 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 1;
  return values;
}

TEST(PluginFormats, AreAllAskedFor) {
  constexpr NetworkDefinitionCreationFlags kStrong =
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  const std::map<DataType, std::vector<TensorFormat>> formats = {
      {DataType::kFLOAT, {TensorFormat::kLINEAR, TensorFormat::kCHW32, TensorFormat::kHWC}},
      {DataType::kHALF,
       {TensorFormat::kLINEAR, TensorFormat::kCHW2, TensorFormat::kHWC8, TensorFormat::kCHW4,
        TensorFormat::kCHW16, TensorFormat::kCHW32, TensorFormat::kHWC16}},
      {DataType::kINT8,
       {TensorFormat::kLINEAR, TensorFormat::kCHW4, TensorFormat::kCHW32, TensorFormat::kHWC16}},
      {DataType::kINT32, {TensorFormat::kLINEAR}}};
  for (const auto& [type, all] : formats) {
    FormattedSession session(bit(TensorFormat::kLINEAR), bit(TensorFormat::kLINEAR), {type},
                             FormattedSession::kDims, type, kStrong);
    ASSERT_TRUE(session.build()) << session.log.text();
    for (const TensorFormat format : all)
      EXPECT_TRUE(record.asked.contains({int32_t(type), int32_t(format)}))
          << int(type) << " " << int(format);
  }
}

/// An input in one format, an output in the other: of 5 channels, so that vectors have padding.
TEST(PluginFormats, ThatArePluginsOnlyOnesAreReformatted) {
  const std::array<TensorFormat, 3> formats = {TensorFormat::kLINEAR, TensorFormat::kCHW32,
                                               TensorFormat::kHWC};
  for (const TensorFormat in : formats)
    for (const TensorFormat out : formats) {
      FormattedSession session(bit(in), bit(out), {DataType::kFLOAT});
      const Arrays y = session.run({{"x", floats({2, 5, 3, 4}, counted())}});
      ASSERT_TRUE(y.contains("y")) << session.log.text();
      EXPECT_EQ(y.at("y").values<float>(), counted()) << int(in) << " " << int(out);
      EXPECT_EQ(record.ran_in, std::set<int32_t>{int32_t(in)});
      EXPECT_TRUE(record.padding_is_zero);
    }
}

/// Two plugins, one behind the other.
struct TwoFormatted : FormattedSession {
  explicit TwoFormatted(TensorFormat format, int64_t channels = 5)
      : FormattedSession(bit(format), bit(format), {DataType::kFLOAT},
                         Dims{4, {2, channels, 3, 4}}),
        elements(static_cast<size_t>(24 * channels)) {
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    first = network->getOutput(0);
    network->unmarkOutput(*first);
    first->setName("between");
    ITensor* inputs[] = {first};
    output(network->addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0), "y");
  }
  /// How often the plan's layers say that a tensor stays in a plugin's format.
  int kept() {
    F values(elements);
    for (size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i);
    const int64_t channels = static_cast<int64_t>(elements) / 24;
    const Arrays y = run({{"x", floats({2, channels, 3, 4}, values)}});
    EXPECT_EQ(y.at("y").values<float>(), values) << log.text();
    EXPECT_TRUE(record.padding_is_zero);
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    const std::string text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    int count = 0;
    for (size_t at = text.find("k"); at != std::string::npos; at = text.find("k", at + 1))
      count += at > 0 && std::isdigit(text[at - 1]) != 0 ? 1 : 0;
    return count;
  }
  size_t elements;
  ITensor* first;
};

TEST(PluginFormats, BetweenTwoPluginsAreKept) {
  EXPECT_EQ(TwoFormatted(TensorFormat::kHWC).kept(), 2);
  EXPECT_EQ(TwoFormatted(TensorFormat::kCHW32, 64).kept(), 2);
}
TEST(PluginFormats, BetweenTwoPluginsAreMadeLinearWhereTheyPad) {
  EXPECT_EQ(TwoFormatted(TensorFormat::kCHW32).kept(), 0);
}
TEST(PluginFormats, OfATensorThatOthersReadAreMadeLinear) {
  TwoFormatted session(TensorFormat::kHWC);
  session.network->markOutput(*session.first);
  EXPECT_EQ(session.kept(), 0);
}

TEST(PluginFormats, OfHalfPrecisionAreReformatted) {
  for (const TensorFormat format :
       {TensorFormat::kHWC8, TensorFormat::kCHW2, TensorFormat::kCHW4}) {
    FormattedSession session(bit(format), bit(format), {DataType::kHALF});
    const Arrays y = session.run({{"x", floats({2, 5, 3, 4}, counted())}});
    ASSERT_TRUE(y.contains("y")) << session.log.text();
    EXPECT_EQ(y.at("y").values<float>(), counted()) << int(format);
    EXPECT_EQ(record.ran_in, std::set<int32_t>{int32_t(format)});
  }
}

TEST(PluginFormats, AreTimedAgainstEachOther) {
  FormattedSession session(bit(TensorFormat::kLINEAR) | bit(TensorFormat::kCHW32),
                           bit(TensorFormat::kLINEAR) | bit(TensorFormat::kCHW32),
                           {DataType::kFLOAT});
  ASSERT_TRUE(session.build()) << session.log.text();
  EXPECT_EQ(record.ran_in,
            (std::set<int32_t>{int32_t(TensorFormat::kLINEAR), int32_t(TensorFormat::kCHW32)}));
  const Arrays y = session.run({{"x", floats({2, 5, 3, 4}, counted())}});
  EXPECT_EQ(y.at("y").values<float>(), counted());
}

/// All nine, as many as the build has time for: none is left out by its number.
TEST(PluginFormats, AreTimedInEveryCombination) {
  const uint32_t all =
      bit(TensorFormat::kLINEAR) | bit(TensorFormat::kCHW32) | bit(TensorFormat::kHWC);
  FormattedSession session(all, all, {DataType::kFLOAT});
  ASSERT_TRUE(session.build()) << session.log.text();
  EXPECT_EQ(record.ran_from_to.size(), 9U);
}

/// A plugin that answers without a look at the format gets its tensors as it expects them.
TEST(PluginFormats, ThatAPluginDoesNotLookAtStayLinear) {
  FormattedSession session(~0U, ~0U, {DataType::kFLOAT});
  ASSERT_TRUE(session.run({{"x", floats({2, 5, 3, 4}, counted())}}).contains("y"));
  EXPECT_EQ(record.ran_in, std::set<int32_t>{int32_t(TensorFormat::kLINEAR)});
}

TEST(PluginFormats, NoneOfWhichATensorCanHaveAreAnError) {
  FormattedSession session(bit(TensorFormat::kDHWC), bit(TensorFormat::kLINEAR), {DataType::kFLOAT},
                           Dims{2, {2, 5}});
  const std::unique_ptr<IHostMemory> plan(
      session.builder->buildSerializedNetwork(*session.network, *session.config));
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(session.log.complained("does not take input 0 linear and in FP32"));
}

TEST(PluginFormats, FollowThePrecisionOfTheNetwork) {
  FormattedSession session(bit(TensorFormat::kLINEAR), bit(TensorFormat::kLINEAR),
                           {DataType::kFLOAT, DataType::kHALF, DataType::kBF16});
  session.config->setFlag(BuilderFlag::kBF16);
  const Arrays y = session.run({{"x", floats({2, 5, 3, 4}, counted())}});
  EXPECT_EQ(y.at("y").values<float>(), counted());
  const std::set<int32_t> lowered{int32_t(DataType::kBF16)}, kept{int32_t(DataType::kFLOAT)};
  EXPECT_EQ(record.ran_types, session.builder->platformHasFastFp16() ? lowered : kept);
}

/// y = a + b of its inputs' own types: half and float, whatever the network has.
class Mixed final : public plugin_test::Copier<Mixed> {
 public:
  static constexpr const char* kName = "Mixed";
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType*,
                             int32_t) const noexcept override {
    outputs[0] = DataType::kFLOAT;
    return 0;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    constexpr DataType kTypes[] = {DataType::kHALF, DataType::kFLOAT, DataType::kFLOAT};
    return all[pos].desc.type == kTypes[pos] && all[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    // Halves of 1, 2 and 4 that are powers of two.
    for (int64_t i = 0; i < in[0].dims.d[0]; ++i) {
      const uint16_t half = static_cast<const uint16_t*>(inputs[0])[i];
      const float a = std::ldexp(1.0F, (half >> 10 & 31) - 15);
      static_cast<float*>(outputs[0])[i] = a + static_cast<const float*>(inputs[1])[i];
    }
    return 0;
  }
};

TEST(PluginTypes, MayDifferFromInputToInput) {
  const plugin_test::Registered<plugin_test::StatelessCreator<Mixed>> creator("");
  Session session;
  Mixed plugin;
  ITensor* inputs[] = {session.input("a", DataType::kFLOAT, {3}),
                       session.input("b", DataType::kFLOAT, {3})};
  session.output(session.network->addPluginV3(inputs, 2, nullptr, 0, plugin)->getOutput(0), "y");
  const Arrays y = session.run({{"a", floats({3}, {1, 2, 4})}, {"b", floats({3}, {10, 20, 2049})}});
  ASSERT_TRUE(y.contains("y")) << session.log.text();
  EXPECT_EQ(y.at("y").values<float>(), (F{11, 22, 2053}));
}

TEST(PluginBounds, AreThoseOfTheProfiles) {
  FormattedSession session(1, 1, {DataType::kFLOAT}, Dims{4, {-1, 5, -1, 4}});
  for (const auto& [least, usual, most] : {std::array<int64_t, 3>{2, 4, 8}, {3, 5, 16}}) {
    IOptimizationProfile* profile = session.builder->createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, Dims4{least, 5, 6, 4});
    profile->setDimensions("x", OptProfileSelector::kOPT, Dims4{usual, 5, 7, 4});
    profile->setDimensions("x", OptProfileSelector::kMAX, Dims4{most, 5, 9, 4});
    session.config->addOptimizationProfile(profile);
  }
  ASSERT_TRUE(session.build()) << session.log.text();
  ASSERT_FALSE(record.configured_open.empty());
  for (const auto& all : record.configured_open)
    for (const DynamicPluginTensorDesc& tensor : all)
      for (int32_t i = 0; i < 4; ++i) {
        EXPECT_GT(tensor.min.d[i], 0);
        EXPECT_GT(tensor.max.d[i], 0);
      }
  // A network that is under construction has no profiles yet.
  ASSERT_EQ(record.configured_open.back().size(), 2U);
  for (const DynamicPluginTensorDesc& tensor : record.configured_open.back()) {
    EXPECT_EQ(extents_of(tensor.desc.dims), (std::vector<int64_t>{-1, 5, -1, 4}));
    EXPECT_EQ(extents_of(tensor.min), (std::vector<int64_t>{2, 5, 6, 4}));
    EXPECT_EQ(extents_of(tensor.opt), (std::vector<int64_t>{4, 5, 7, 4}));
    EXPECT_EQ(extents_of(tensor.max), (std::vector<int64_t>{16, 5, 9, 4}));
  }
}

}  // namespace
}  // namespace api_test
