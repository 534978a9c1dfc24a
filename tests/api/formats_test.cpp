// Inputs and outputs in every format: the elements lie where the format's definition says.

#include "harness.h"

namespace api_test {
namespace {

struct Format {
  TensorFormat format;
  const char* name;
  int64_t vector;
  bool channels_last;
  int inner_axes;
};
const Format kFormats[] = {{TensorFormat::kCHW2, "kCHW2", 2, false, 2},
                           {TensorFormat::kHWC8, "kHWC8", 8, true, 2},
                           {TensorFormat::kCHW4, "kCHW4", 4, false, 2},
                           {TensorFormat::kCHW16, "kCHW16", 16, false, 2},
                           {TensorFormat::kCHW32, "kCHW32", 32, false, 2},
                           {TensorFormat::kDHWC8, "kDHWC8", 8, true, 3},
                           {TensorFormat::kCDHW32, "kCDHW32", 32, false, 3},
                           {TensorFormat::kHWC, "kHWC", 1, true, 2},
                           {TensorFormat::kHWC16, "kHWC16", 16, true, 2},
                           {TensorFormat::kDHWC, "kDHWC", 1, true, 3}};

TensorFormats only(TensorFormat format) {
  return 1U << static_cast<uint32_t>(format);
}

int64_t elements(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  return count;
}

/// Where the elements of a tensor lie in a buffer, in elements.
struct Places {
  Places(const Format& format, const std::vector<int64_t>& extents)
      : axis(extents.size() - format.inner_axes - 1) {
    const int64_t channels = extents[axis],
                  vectors = (channels + format.vector - 1) / format.vector;
    size = elements(extents) / channels * vectors * format.vector;
    for (int64_t i = 0; i < elements(extents); ++i) {
      int64_t inner = 1, rest = i;
      for (size_t a = axis + 1; a < extents.size(); ++a) inner *= extents[a];
      const int64_t at = rest % inner, channel = rest / inner % channels,
                    outer = rest / inner / channels;
      places.push_back(format.channels_last
                           ? (outer * inner + at) * vectors * format.vector + channel
                           : ((outer * vectors + channel / format.vector) * inner + at) *
                                     format.vector +
                                 channel % format.vector);
    }
  }
  size_t axis;
  int64_t size = 0;
  std::vector<int64_t> places;
};

/// y = relu(x), with x and y in those formats; one run at these extents.
template <class T>
void expect_elements(const Format* input, const Format* output, DataType type,
                     const std::vector<int64_t>& extents, bool dynamic) {
  SCOPED_TRACE(std::string(input != nullptr ? input->name : "kLINEAR") + " to " +
               (output != nullptr ? output->name : "kLINEAR"));
  Session session(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  Dims shape{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), shape.d);
  Dims declared = shape, least = shape;
  if (dynamic) declared.d[0] = declared.d[extents.size() - 1] = -1;
  if (dynamic) least.d[0] = least.d[extents.size() - 1] = 1;
  ITensor* x = session.network->addInput("x", type, declared);
  ITensor* y = type == DataType::kINT8
                   ? session.network->addIdentity(*x)->getOutput(0)
                   : session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  session.output(y, "y");
  if (input != nullptr) x->setAllowedFormats(only(input->format));
  if (output != nullptr) y->setAllowedFormats(only(output->format));
  if (dynamic) {
    IOptimizationProfile* profile = session.builder->createOptimizationProfile();
    for (const auto select :
         {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      profile->setDimensions("x", select, select == OptProfileSelector::kMIN ? least : shape);
    session.config->addOptimizationProfile(profile);
  }
  ASSERT_TRUE(session.build()) << session.log.text();
  const Places in(input != nullptr ? *input : Format{{}, "", 1, false, 0}, extents);
  const Places out(output != nullptr ? *output : Format{{}, "", 1, false, 0}, extents);
  for (const auto& [name, format] : {std::pair("x", input), std::pair("y", output)}) {
    const bool vectors = format != nullptr && format->vector > 1;
    const auto axis = static_cast<int32_t>(name[0] == 'x' ? in.axis : out.axis);
    EXPECT_EQ(session.engine->getTensorFormat(name),
              format != nullptr ? format->format : TensorFormat::kLINEAR);
    EXPECT_EQ(session.engine->getTensorVectorizedDim(name), vectors ? axis : -1);
    EXPECT_EQ(session.engine->getTensorComponentsPerElement(name), vectors ? format->vector : -1);
    EXPECT_EQ(session.engine->getTensorBytesPerComponent(name),
              vectors ? static_cast<int32_t>(sizeof(T)) : -1);
    EXPECT_EQ(extents_of(session.engine->getTensorShape(name)), extents_of(declared));
    if (format != nullptr) {
      const std::string words = session.engine->getTensorFormatDesc(name);
      EXPECT_NE(words.find(format->name), std::string::npos) << words;
      EXPECT_EQ(words.find("{}"), std::string::npos) << words;
    }
  }
  EXPECT_EQ(extents_of(session.engine->getProfileShape("x", 0, OptProfileSelector::kMAX)), extents);
  ASSERT_TRUE(session.context->setInputShape("x", shape)) << session.log.text();
  EXPECT_EQ(extents_of(session.context->getTensorShape("y")), extents);
  EXPECT_EQ(session.context->getMaxOutputSize("y"), out.size * static_cast<int64_t>(sizeof(T)));
  Memory fed(in.size * sizeof(T) + 64), given(out.size * sizeof(T) + 64);
  auto* from = reinterpret_cast<T*>(fed.data());
  const auto* to = reinterpret_cast<const T*>(given.data());
  std::fill(from, from + in.size, T{99});  // Padding may hold anything.
  for (size_t i = 0; i < in.places.size(); ++i) from[in.places[i]] = static_cast<T>(i % 113);
  ASSERT_TRUE(session.context->setTensorAddress("x", fed.data()));
  ASSERT_TRUE(session.context->setTensorAddress("y", given.data()));
  ASSERT_TRUE(session.context->enqueueV3(nullptr)) << session.log.text();
  ASSERT_TRUE(gpu() == nullptr || gpu()->synchronize(cudaStream_t{}));
  for (size_t i = 0; i < out.places.size(); ++i)
    ASSERT_EQ(to[out.places[i]], static_cast<T>(i % 113)) << "element " << i;
}

TEST(Formats, ElementsLieWhereTheFormatSays) {
  const std::vector<int64_t> image = {2, 3, 4, 5}, volume = {2, 9, 2, 3, 4};
  for (const Format& format : kFormats) {
    const std::vector<int64_t>& extents = format.inner_axes == 2 ? image : volume;
    expect_elements<float>(&format, nullptr, DataType::kFLOAT, extents, false);
    expect_elements<float>(nullptr, &format, DataType::kFLOAT, extents, true);
    expect_elements<float>(&format, &format, DataType::kFLOAT, extents, true);
    expect_elements<int8_t>(&format, &format, DataType::kINT8, extents, false);
  }
  // Three axes are enough; a multiple of the vector has no padding.
  expect_elements<float>(&kFormats[1], &kFormats[2], DataType::kFLOAT, {8, 4, 5}, false);
}

TEST(Formats, StridesAreOfVectors) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 9, 4, 5});
  ITensor* y = session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  session.output(y, "y");
  x->setAllowedFormats(only(TensorFormat::kCHW4));
  y->setAllowedFormats(only(TensorFormat::kHWC8) | only(TensorFormat::kCHW32));
  ASSERT_TRUE(session.build());
  EXPECT_EQ(extents_of(session.context->getTensorStrides("x")),
            (std::vector<int64_t>{60, 20, 5, 1}));
  EXPECT_EQ(session.engine->getTensorFormat("y"), TensorFormat::kHWC8) << "of less padding";
  EXPECT_EQ(extents_of(session.context->getTensorStrides("y")),
            (std::vector<int64_t>{40, 1, 10, 2}));
}

TEST(Formats, RefusalsHaveTheirReason) {
  struct Case {
    std::initializer_list<int64_t> extents;
    TensorFormats formats;
    const char* reason;
  };
  const Case cases[] = {
      {{1, 3, 4, 4}, only(TensorFormat::kDLA_LINEAR), "kDLA_LINEAR (there is no DLA)"},
      {{4, 4}, only(TensorFormat::kHWC), "kHWC (it takes 3 axes and more, and there are 2)"},
      {{1, -1, 4, 4}, only(TensorFormat::kCHW4), "the number of channels is not known"},
      {{1, 3, 4, 4}, 0, "none that there is"}};
  for (const Case& one : cases) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, one.extents);
    session.output(session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0), "y");
    x->setAllowedFormats(one.formats);
    if (*(one.extents.begin() + 1) < 0)
      session.profile("x", {1, 1, 4, 4}, {1, 2, 4, 4}, {1, 3, 4, 4});
    EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
    EXPECT_TRUE(session.log.complained(one.reason)) << one.reason;
  }
}

TEST(Formats, DirectInputsAndOutputsAreLinear) {
  for (const bool linear : {true, false}) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {1, 3, 4, 4});
    session.output(session.network->addActivation(*x, ActivationType::kRELU)->getOutput(0), "y");
    x->setAllowedFormats(only(TensorFormat::kHWC) | (linear ? only(TensorFormat::kLINEAR) : 0));
    session.config->setFlag(BuilderFlag::kDIRECT_IO);
    session.plan.reset(session.builder->buildSerializedNetwork(*session.network, *session.config));
    EXPECT_EQ(session.plan != nullptr, linear) << session.log.text();
    if (!linear) {
      EXPECT_TRUE(session.log.complained("kDIRECT_IO: 'x' is kHWC"));
    }
  }
}

}  // namespace
}  // namespace api_test
