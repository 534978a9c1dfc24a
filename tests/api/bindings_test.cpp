// Types of inputs and outputs: the types of applications' bindings, not of the network's
// arithmetic.
#include <cmath>

#include "harness.h"

namespace api_test {
namespace {

/// Halves of small numbers, by their bits.
uint16_t half(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if (value == 0) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000U) | (((bits >> 23 & 0xFFU) - 112) << 10) |
                               (bits >> 13 & 0x3FFU));
}
float from_half(uint16_t bits) {
  const float fraction = static_cast<float>(bits & 0x3FFU) / 1024;
  const int exponent = bits >> 10 & 0x1F;
  const float value =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return (bits & 0x8000U) != 0 ? -value : value;
}
uint16_t brain(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>(bits >> 16);
}

Array halves(std::vector<int64_t> extents, const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(half(value));
  return Array::of<uint16_t>(DataType::kHALF, std::move(extents), bits);
}
std::vector<float> floats_of(const Array& array) {
  std::vector<float> result;
  if (array.type == DataType::kFLOAT) return array.values<float>();
  for (const uint16_t bits : array.values<uint16_t>()) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, 4);
    result.push_back(array.type == DataType::kHALF ? from_half(bits) : value);
  }
  return result;
}

constexpr uint32_t kStrong =
    1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

/// y = concat(x + {1, 2, 3, 4}, {9, 8}): sums and joins of the input with constants.
struct Sums : Session {
  explicit Sums(NetworkDefinitionCreationFlags flags = 0) : Session(flags) {
    x = input("x", DataType::kFLOAT, {1, 4});
    ITensor* sum =
        network->addElementWise(*x, *constant({1, 4}, {1, 2, 3, 4}), ElementWiseOperation::kSUM)
            ->getOutput(0);
    ITensor* both[] = {sum, constant({1, 2}, {9, 8})};
    IConcatenationLayer* join = network->addConcatenation(both, 2);
    join->setAxis(1);
    y = join->getOutput(0);
    output(y, "y");
  }
  DataType bound(const char* name) { return engine->getTensorDataType(name); }
  void expect_sums(const Array& fed) {
    const Arrays outputs = run({{"x", fed}});
    ASSERT_EQ(outputs.count("y"), 1U);
    EXPECT_EQ(floats_of(outputs.at("y")), (std::vector<float>{1.5, 1, 3.25, 104, 9, 8}));
  }
  const std::vector<float> numbers = {0.5, -1, 0.25, 100};
  ITensor *x = nullptr, *y = nullptr;
};

TEST(Bindings, HalvesOfANetworkOfFloats) {
  for (const bool fp16 : {false, true}) {
    Sums s;
    if (fp16) s.config->setFlag(BuilderFlag::kFP16);
    s.x->setType(DataType::kHALF);
    s.y->setType(DataType::kHALF);
    EXPECT_EQ(s.x->getType(), DataType::kHALF);
    EXPECT_EQ(s.y->getType(), DataType::kHALF);
    s.expect_sums(halves({1, 4}, s.numbers));
    EXPECT_EQ(s.bound("x"), DataType::kHALF);
    EXPECT_EQ(s.bound("y"), DataType::kHALF);
    EXPECT_TRUE(s.log.errors.empty()) << s.log.text();
  }
}

TEST(Bindings, BrainFloatsInAndFloatsOut) {
  Sums s;
  s.x->setType(DataType::kBF16);
  std::vector<uint16_t> bits;
  for (const float number : s.numbers) bits.push_back(brain(number));
  s.expect_sums(Array::of<uint16_t>(DataType::kBF16, {1, 4}, bits));
  EXPECT_EQ(s.bound("x"), DataType::kBF16);
  EXPECT_EQ(s.bound("y"), DataType::kFLOAT);
}

TEST(Bindings, FloatsInAndBrainFloatsOut) {
  Sums s;
  s.y->setType(DataType::kBF16);
  s.expect_sums(floats({1, 4}, s.numbers));
  EXPECT_EQ(s.bound("y"), DataType::kBF16);
}

TEST(Bindings, TheLastTypeCounts) {
  Sums s;
  s.x->setType(DataType::kHALF);
  s.x->setType(DataType::kFLOAT);
  s.y->setType(DataType::kBF16);
  s.y->setType(DataType::kFLOAT);
  s.expect_sums(floats({1, 4}, s.numbers));
  EXPECT_EQ(s.bound("y"), DataType::kFLOAT);
}

TEST(Bindings, LayersComputeInTheirOwnType) {
  // 2048 + 1 is no half: only outputs of the network are rounded.
  Session s;
  ITensor* x = s.input("x", DataType::kFLOAT, {1});
  ITensor* more = s.network->addElementWise(*x, *s.constant({1}, {1}), ElementWiseOperation::kSUM)
                      ->getOutput(0);
  ITensor* y =
      s.network->addElementWise(*more, *s.constant({1}, {2048}), ElementWiseOperation::kSUB)
          ->getOutput(0);
  s.output(y, "y");
  x->setType(DataType::kHALF);
  y->setType(DataType::kHALF);
  const Arrays outputs = s.run({{"x", halves({1}, {2048})}});
  ASSERT_EQ(outputs.count("y"), 1U);
  EXPECT_EQ(floats_of(outputs.at("y")), std::vector<float>{1});
}

TEST(Bindings, BytesByDynamicRanges) {
  Sums s;
  s.x->setType(DataType::kINT8);
  s.y->setType(DataType::kINT8);
  EXPECT_TRUE(s.x->setDynamicRange(-254, 254));
  EXPECT_TRUE(s.y->setDynamicRange(-12.7F, 12.7F));
  const Array fed = Array::of<int8_t>(DataType::kINT8, {1, 4}, {2, -1, 0, 3});
  const Arrays outputs = s.run({{"x", fed}});
  ASSERT_EQ(outputs.count("y"), 1U);
  // {4, -2, 0, 6} + {1, 2, 3, 4} in tenths.
  EXPECT_EQ(outputs.at("y").values<int8_t>(), (std::vector<int8_t>{50, 0, 30, 100, 90, 80}));
}

TEST(Bindings, CastsToBytesAreScaledByRanges) {
  Session s;
  ITensor* y =
      s.network->addCast(*s.input("x", DataType::kFLOAT, {4}), DataType::kINT8)->getOutput(0);
  s.output(y, "y");
  EXPECT_TRUE(y->setDynamicRange(-254, 254));
  const Arrays outputs =
      s.run({{"x", Array::of<float>(DataType::kFLOAT, {4}, {-300, -20, 7, 254})}});
  ASSERT_EQ(outputs.count("y"), 1U);
  EXPECT_EQ(outputs.at("y").values<int8_t>(), (std::vector<int8_t>{-128, -10, 4, 127}));
}

TEST(Bindings, BytesByTheNetworksOwnScales) {
  Session s;
  ITensor* x = s.input("x", DataType::kFLOAT, {4});
  ITensor* scale = s.constant({}, {0.5});
  ITensor* quantized = s.network->addQuantize(*x, *scale)->getOutput(0);
  ITensor* value = s.network->addDequantize(*quantized, *scale)->getOutput(0);
  ITensor* sum =
      s.network->addElementWise(*value, *value, ElementWiseOperation::kSUM)->getOutput(0);
  quantized = s.network->addQuantize(*sum, *scale)->getOutput(0);
  ITensor* y = s.network->addDequantize(*quantized, *scale)->getOutput(0);
  s.output(y, "y");
  x->setType(DataType::kINT8);
  y->setType(DataType::kINT8);
  const Array fed = Array::of<int8_t>(DataType::kINT8, {4}, {1, -2, 63, 100});
  const Arrays outputs = s.run({{"x", fed}});
  ASSERT_EQ(outputs.count("y"), 1U);
  EXPECT_EQ(outputs.at("y").values<int8_t>(), (std::vector<int8_t>{2, -4, 126, 127}));
}

TEST(Bindings, BytesNeedAScale) {
  Sums s;
  s.x->setType(DataType::kINT8);
  EXPECT_EQ(s.builder->buildSerializedNetwork(*s.network, *s.config), nullptr);
  EXPECT_TRUE(s.log.complained("'x' cannot be bound as INT8 without a scale"));
}

TEST(Bindings, IndicesOfEitherWidth) {
  Session s;
  ITensor* x = s.input("x", DataType::kINT64, {2});
  ITensor* sum =
      s.network->addElementWise(*x, *s.constant64({2}, {10, 20}), ElementWiseOperation::kSUM)
          ->getOutput(0);
  s.output(sum, "y");
  x->setType(DataType::kINT32);
  sum->setType(DataType::kINT32);
  const Arrays outputs = s.run({{"x", integers32({2}, {1, -2})}});
  ASSERT_EQ(outputs.count("y"), 1U);
  EXPECT_EQ(outputs.at("y").values<int32_t>(), (std::vector<int32_t>{11, 18}));
}

TEST(Bindings, AnInputMayBeOfAnotherKindBeforeLayersReadIt) {
  Session s;
  ITensor* x = s.input("x", DataType::kFLOAT, {2});
  x->setType(DataType::kINT32);
  ITensor* y = s.network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
  s.output(y, "y");
  EXPECT_EQ(y->getType(), DataType::kINT32);
  const Arrays outputs = s.run({{"x", integers32({2}, {3, 4})}});
  ASSERT_EQ(outputs.count("y"), 1U);
  EXPECT_EQ(outputs.at("y").values<int32_t>(), (std::vector<int32_t>{6, 8}));
}

TEST(Bindings, NoOutputBecomesOfAnotherKind) {
  Sums s;
  s.y->setType(DataType::kINT32);
  EXPECT_TRUE(s.log.complained("'y' is f32 and cannot be made i32: add a cast"));
  EXPECT_EQ(s.y->getType(), DataType::kFLOAT);
  s.y->setType(DataType::kBOOL);
  EXPECT_TRUE(s.log.complained("cannot be made bool"));
}

TEST(Bindings, InputsMadeOf16BitsMeetFloats) {
  Session s;
  ITensor* x = s.input("x", DataType::kHALF, {1, 1, 2, 2});
  EXPECT_EQ(x->getType(), DataType::kHALF);
  // Weights and constants of either type, as layers of such a network take them.
  std::vector<uint16_t> bits = {half(2), half(1), half(1), half(0.5)};
  auto* conv = s.network->addConvolutionNd(*x, 1, dims({1, 1}), {DataType::kHALF, bits.data(), 1},
                                           {DataType::kHALF, bits.data() + 1, 1});
  ITensor* halves_too =
      s.network->addConstant(dims({1, 1, 2, 2}), {DataType::kHALF, bits.data(), 4})->getOutput(0);
  ITensor* sum =
      s.network->addElementWise(*conv->getOutput(0), *halves_too, ElementWiseOperation::kSUM)
          ->getOutput(0);
  ITensor* y = s.network
                   ->addElementWise(*sum, *s.constant({1, 1, 1, 1}, {1.0F / 4096}),
                                    ElementWiseOperation::kSUM)
                   ->getOutput(0);
  s.output(y, "y");
  EXPECT_EQ(y->getType(), DataType::kFLOAT);
  const Arrays outputs = s.run({{"x", halves({1, 1, 2, 2}, {1, 2, 3, 4})}});
  ASSERT_EQ(outputs.count("y"), 1U);
  constexpr float kLess = 1.0F / 4096;
  EXPECT_EQ(floats_of(outputs.at("y")),
            (std::vector<float>{5 + kLess, 6 + kLess, 8 + kLess, 9.5F + kLess}));
}

TEST(Bindings, TheLinearFormatIsTakenWhereItIsAllowed) {
  const auto one = [](TensorFormat format) { return 1U << static_cast<uint32_t>(format); };
  for (const bool input : {true, false}) {
    Sums s;
    ITensor* tensor = input ? s.x : s.y;
    tensor->setAllowedFormats(one(TensorFormat::kDLA_LINEAR));
    EXPECT_EQ(s.builder->buildSerializedNetwork(*s.network, *s.config), nullptr);
    EXPECT_TRUE(s.log.complained(input ? "input 'x': its allowed" : "output 'y': its allowed"));
    tensor->setAllowedFormats(one(TensorFormat::kHWC) | one(TensorFormat::kLINEAR));
    EXPECT_TRUE(s.build());
  }
}

TEST(Bindings, OutputsOfLayersInInt8AreAWish) {
  Session s;
  ITensor* x = s.input("x", DataType::kFLOAT, {1, 2, 2, 2});
  IConvolutionLayer* layers[2];
  for (IConvolutionLayer*& layer : layers) {
    layer = s.network->addConvolutionNd(*x, 2, dims({1, 1}), s.weights({1, 2, 3, 4}), {});
    x = layer->getOutput(0);
  }
  s.output(x, "y");
  s.config->setFlag(BuilderFlag::kINT8);
  for (IConvolutionLayer* layer : layers) {
    layer->setPrecision(DataType::kINT8);
    layer->setOutputType(0, DataType::kINT8);
    EXPECT_TRUE(layer->getOutput(0)->setDynamicRange(-50, 50));
    EXPECT_EQ(layer->getOutputType(0), DataType::kINT8);
  }
  EXPECT_TRUE(s.network->getInput(0)->setDynamicRange(-1, 1));
  ASSERT_TRUE(s.build());
  EXPECT_EQ(s.engine->getTensorDataType("y"), DataType::kFLOAT);
  // [7 10; 15 22] of the sums of both channels.
  const std::vector<float> x_of(8, 1.0F);
  expect_near(s.run({{"x", floats({1, 2, 2, 2}, x_of)}})["y"], {17, 17, 17, 17, 37, 37, 37, 37},
              0.05F);
}

/// Only ITensor::setType changes what applications bind.
TEST(Bindings, TypesOfLayersResultsChangeNoTensors) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16}) {
    Session s;
    s.config->setFlag(BuilderFlag::kFP16);
    s.config->setFlag(BuilderFlag::kBF16);
    s.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    ITensor* x = s.input("x", DataType::kFLOAT, {4});
    ILayer* first = s.network->addUnary(*x, UnaryOperation::kABS);
    ILayer* last = s.network->addActivation(*first->getOutput(0), ActivationType::kRELU);
    s.output(last->getOutput(0), "y");
    ITensor* other = s.network->addIdentity(*first->getOutput(0))->getOutput(0);
    s.network->getLayer(2)->setOutputType(0, type);
    s.output(other, "z");
    for (ILayer* layer : {first, last}) {
      layer->setOutputType(0, type);
      EXPECT_EQ(layer->getOutputType(0), type);
      EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT);
    }
    EXPECT_EQ(other->getType(), type) << "identities are there to convert";
    ASSERT_TRUE(s.build());
    EXPECT_EQ(s.engine->getTensorDataType("y"), DataType::kFLOAT);
    EXPECT_EQ(s.engine->getTensorDataType("z"), type);
    const auto result = s.run({{"x", floats({4}, {-1.001F, 2, -300.3F, 0.1F})}})["y"];
    expect_near(result, {1.001F, 2, 300.3F, 0.1F}, 1.3F);
    EXPECT_NE(result.values<float>()[2], 300.3F) << "it is rounded all the same";
  }
}

TEST(Bindings, StronglyTypedNetworksTakeInputsAtTheirWord) {
  Sums s(kStrong);
  s.y->setType(DataType::kFLOAT);
  EXPECT_TRUE(s.log.errors.empty()) << "a type that it has anyway is tolerated: " << s.log.text();
  s.y->setType(DataType::kHALF);
  EXPECT_TRUE(s.log.complained("strongly typed"));
  EXPECT_EQ(s.y->getType(), DataType::kFLOAT);
  s.x->setType(DataType::kHALF);
  EXPECT_EQ(s.builder->buildSerializedNetwork(*s.network, *s.config), nullptr);
  EXPECT_TRUE(s.log.complained("the operands must be of one type"));
}

/// Weights hold two in a byte: an application that counts so gives too little memory.
TEST(Bindings, OfFourBitsNeedAByteEachAndAreWarnedOf) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 16});
  auto* layer = session.network->addDynamicQuantize(*x, 1, 16, DataType::kFP4, DataType::kFP8);
  layer->setInput(1, *session.constant({}, {1}));
  session.output(layer->getOutput(0), "y");
  session.output(layer->getOutput(1), "scale");
  ASSERT_TRUE(session.build()) << session.log.text();
  EXPECT_EQ(session.context->getMaxOutputSize("y"), 32);
  ASSERT_EQ(session.log.warnings.size(), 1U);
  EXPECT_NE(session.log.warnings[0].find("'y'"), std::string::npos);
}

}  // namespace
}  // namespace api_test
