// Each kind of layer, built by calls and compared with values computed here.
#include <algorithm>
#include <cmath>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;

F iota(int count, float first = 0, float step = 1) {
  F values;
  for (int i = 0; i < count; ++i) values.push_back(first + step * static_cast<float>(i));
  return values;
}

/// A network of one float input "x" and one output "y".
struct Unary : Session {
  ITensor* x;
  explicit Unary(std::initializer_list<int64_t> extents)
      : x(input("x", DataType::kFLOAT, extents)) {}
  Array apply(ILayer* layer, const F& values, int32_t index = 0) {
    EXPECT_NE(layer, nullptr) << log.text();
    if (layer == nullptr) return {};
    output(layer->getOutput(index), "y");
    Arrays outputs = run({{"x", floats(extents_of(x->getDimensions()), values)}});
    return outputs.count("y") != 0 ? outputs["y"] : Array();
  }
};

TEST(Layers, Activations) {
  struct Case {
    ActivationType type;
    float alpha, beta;
    float (*expected)(float);
  };
  const Case cases[] = {
      {ActivationType::kRELU, 0, 0, [](float x) { return std::max(x, 0.0F); }},
      {ActivationType::kSIGMOID, 0, 0, [](float x) { return 1 / (1 + std::exp(-x)); }},
      {ActivationType::kTANH, 0, 0, [](float x) { return std::tanh(x); }},
      {ActivationType::kLEAKY_RELU, 0.1F, 0, [](float x) { return x < 0 ? 0.1F * x : x; }},
      {ActivationType::kELU, 0.5F, 0, [](float x) { return x < 0 ? 0.5F * std::expm1(x) : x; }},
      {ActivationType::kSELU, 1.5F, 2,
       [](float x) { return x <= 0 ? 2 * 1.5F * std::expm1(x) : 2 * x; }},
      {ActivationType::kSOFTSIGN, 0, 0, [](float x) { return x / (1 + std::abs(x)); }},
      {ActivationType::kSOFTPLUS, 2, 3, [](float x) { return 2 * std::log(std::exp(3 * x) + 1); }},
      {ActivationType::kCLIP, -1, 0.5F, [](float x) { return std::min(std::max(x, -1.0F), 0.5F); }},
      {ActivationType::kHARD_SIGMOID, 0.3F, 0.4F,
       [](float x) { return std::max(0.0F, std::min(1.0F, 0.3F * x + 0.4F)); }},
      {ActivationType::kSCALED_TANH, 2, 0.5F, [](float x) { return 2 * std::tanh(0.5F * x); }},
      {ActivationType::kTHRESHOLDED_RELU, 1, 0, [](float x) { return x > 1 ? x : 0.0F; }},
      {ActivationType::kGELU_ERF, 0, 0,
       [](float x) { return 0.5F * x * (1 + std::erf(x / std::sqrt(2.0F))); }},
      {ActivationType::kGELU_TANH, 0, 0,
       [](float x) {
         return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
       }},
  };
  const F values = iota(13, -3, 0.5F);
  for (const Case& one : cases) {
    SCOPED_TRACE(static_cast<int>(one.type));
    Unary session({13});
    IActivationLayer* layer = session.network->addActivation(*session.x, one.type);
    layer->setAlpha(one.alpha);
    layer->setBeta(one.beta);
    EXPECT_EQ(layer->getActivationType(), one.type);
    EXPECT_EQ(layer->getType(), LayerType::kACTIVATION);
    F expected;
    for (float value : values) expected.push_back(one.expected(value));
    expect_near(session.apply(layer, values), expected);
  }
}

TEST(Layers, SoftplusIsUsableAsItIsMade) {
  Unary session({4});
  IActivationLayer* layer = session.network->addActivation(*session.x, ActivationType::kSOFTPLUS);
  EXPECT_EQ(layer->getAlpha(), 1);
  EXPECT_EQ(layer->getBeta(), 1);
  expect_near(session.apply(layer, {-2, 0, 3, 200}),
              {std::log1p(std::exp(-2.0F)), std::log(2.0F), std::log1p(std::exp(3.0F)), 200});
}

TEST(Layers, SeluIsUsableAsItIsMade) {
  Unary session({3});
  IActivationLayer* layer = session.network->addActivation(*session.x, ActivationType::kSELU);
  EXPECT_FLOAT_EQ(layer->getAlpha(), 1.67326324F);
  EXPECT_FLOAT_EQ(layer->getBeta(), 1.05070099F);
  expect_near(session.apply(layer, {-2, 0, 3}),
              {1.05070099F * 1.67326324F * std::expm1(-2.0F), 0, 3.15210297F});
}

TEST(Layers, UnaryOperations) {
  struct Case {
    UnaryOperation operation;
    float (*expected)(float);
  };
  const Case cases[] = {
      {UnaryOperation::kEXP, [](float x) { return std::exp(x); }},
      {UnaryOperation::kLOG, [](float x) { return std::log(x); }},
      {UnaryOperation::kSQRT, [](float x) { return std::sqrt(x); }},
      {UnaryOperation::kRECIP, [](float x) { return 1 / x; }},
      {UnaryOperation::kNEG, [](float x) { return -x; }},
      {UnaryOperation::kATAN, [](float x) { return std::atan(x); }},
      {UnaryOperation::kCEIL, [](float x) { return std::ceil(x); }},
      {UnaryOperation::kFLOOR, [](float x) { return std::floor(x); }},
      {UnaryOperation::kERF, [](float x) { return std::erf(x); }},
      {UnaryOperation::kROUND, [](float x) { return std::nearbyint(x); }},
  };
  const F values = iota(8, 0.25F, 0.25F);
  for (const Case& one : cases) {
    SCOPED_TRACE(static_cast<int>(one.operation));
    Unary session({8});
    F expected;
    for (float value : values) expected.push_back(one.expected(value));
    expect_near(session.apply(session.network->addUnary(*session.x, one.operation), values),
                expected);
  }
}

TEST(Layers, ElementWiseBroadcastsAlongOnes) {
  Unary session({2, 3});
  ITensor* row = session.constant({1, 3}, {1, 2, 4});
  auto* layer = session.network->addElementWise(*session.x, *row, ElementWiseOperation::kDIV);
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 3}));
  expect_near(session.apply(layer, {1, 2, 4, 8, 8, 8}), {1, 1, 1, 8, 4, 2});
}

TEST(Layers, ComparisonsAndSelect) {
  Unary session({4});
  ITensor* zero = session.constant({1}, {0});
  auto* less = session.network->addElementWise(*session.x, *zero, ElementWiseOperation::kLESS);
  EXPECT_EQ(less->getOutput(0)->getType(), DataType::kBOOL);
  auto* layer = session.network->addSelect(*less->getOutput(0), *zero, *session.x);
  expect_near(session.apply(layer, {-1, 2, -3, 4}), {0, 2, 0, 4});
}

TEST(Layers, ConvolutionWithPadsStridesAndGroups) {
  Unary session({1, 2, 4, 4});
  const Weights kernel = session.weights(F(2 * 1 * 3 * 3, 1.0F)),
                bias = session.weights({0.5F, -1});
  IConvolutionLayer* layer =
      session.network->addConvolutionNd(*session.x, 2, dims({3, 3}), kernel, bias);
  layer->setNbGroups(2);
  layer->setPaddingNd(dims({1, 1}));
  layer->setStrideNd(dims({2, 2}));
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 2, 2, 2}));
  EXPECT_EQ(layer->getNbInputs(), 1);
  EXPECT_EQ(layer->getKernelWeights().count, 18);
  expect_near(session.apply(layer, F(32, 1.0F)), {4.5F, 6.5F, 6.5F, 9.5F, 3, 5, 5, 8});
}

/// Windows slide over the last axes; all axes in front of the channels are the batch.
TEST(Layers, WindowsTakeSeveralLeadingAxes) {
  const F values = iota(24, 0, 1);
  Unary convolution({2, 1, 2, 2, 3}), deconvolution({2, 1, 2, 2, 3}), pooling({2, 1, 2, 2, 3});
  auto* conv = convolution.network->addConvolutionNd(*convolution.x, 1, dims({2, 2}),
                                                     convolution.weights(F(8, 1)), Weights{});
  EXPECT_EQ(extents_of(conv->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 1, 1, 1, 2}));
  expect_near(convolution.apply(conv, values), {40, 48, 136, 144});
  auto* deconv = deconvolution.network->addDeconvolutionNd(
      *deconvolution.x, 1, dims({1, 1}), deconvolution.weights({1, 2}), Weights{});
  EXPECT_EQ(extents_of(deconv->getOutput(0)->getDimensions()),
            (std::vector<int64_t>{2, 1, 1, 2, 3}));
  expect_near(deconvolution.apply(deconv, values),
              {12, 15, 18, 21, 24, 27, 48, 51, 54, 57, 60, 63});
  auto* pool = pooling.network->addPoolingNd(*pooling.x, PoolingType::kMAX, dims({2, 3}));
  EXPECT_EQ(extents_of(pool->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 1, 2, 1, 1}));
  expect_near(pooling.apply(pool, values), {5, 11, 17, 23});
}

TEST(Layers, ConvolutionPaddingModes) {
  const auto extents = [](PaddingMode mode) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {1, 1, 6, 6});
    auto* layer =
        session.network->addConvolutionNd(*x, 1, dims({3, 3}), session.weights(F(9, 1)), Weights{});
    layer->setStrideNd(dims({2, 2}));
    layer->setPaddingMode(mode);
    return extents_of(layer->getOutput(0)->getDimensions())[2];
  };
  EXPECT_EQ(extents(PaddingMode::kEXPLICIT_ROUND_DOWN), 2);
  EXPECT_EQ(extents(PaddingMode::kEXPLICIT_ROUND_UP), 3);
  EXPECT_EQ(extents(PaddingMode::kSAME_UPPER), 3);
  EXPECT_EQ(extents(PaddingMode::kSAME_LOWER), 3);
}

TEST(Layers, Deconvolution) {
  Unary session({1, 1, 2, 2});
  auto* layer = session.network->addDeconvolutionNd(*session.x, 1, dims({2, 2}),
                                                    session.weights({1, 2, 3, 4}), Weights{});
  layer->setStrideNd(dims({2, 2}));
  expect_near(session.apply(layer, {1, 2, 3, 4}),
              {1, 2, 2, 4, 3, 4, 6, 8, 3, 6, 4, 8, 9, 12, 12, 16});
}

TEST(Layers, Pooling) {
  {
    Unary session({1, 1, 2, 4});
    auto* layer = session.network->addPoolingNd(*session.x, PoolingType::kMAX, dims({2, 2}));
    layer->setStrideNd(dims({2, 2}));
    expect_near(session.apply(layer, iota(8)), {5, 7});
  }
  {
    Unary session({1, 1, 2, 2});
    auto* layer = session.network->addPoolingNd(*session.x, PoolingType::kAVERAGE, dims({2, 2}));
    layer->setPaddingNd(dims({1, 1}));
    EXPECT_TRUE(layer->getAverageCountExcludesPadding());
    layer->setAverageCountExcludesPadding(false);
    layer->setStrideNd(dims({2, 2}));
    expect_near(session.apply(layer, {4, 8, 12, 16}), {1, 2, 3, 4});
  }
  {
    Unary session({1, 1, 2, 2});
    auto* layer =
        session.network->addPoolingNd(*session.x, PoolingType::kMAX_AVERAGE_BLEND, dims({2, 2}));
    layer->setBlendFactor(0.25F);
    expect_near(session.apply(layer, {1, 2, 3, 6}), {0.75F * 6 + 0.25F * 3});
  }
}

TEST(Layers, ScaleByChannelWithPower) {
  Unary session({1, 2, 2});
  auto* layer =
      session.network->addScaleNd(*session.x, ScaleMode::kCHANNEL, session.weights({1, 0}),
                                  session.weights({2, 3}), session.weights({2, 1}), 1);
  expect_near(session.apply(layer, {1, 2, 3, 4}), {9, 25, 9, 12});
}

TEST(Layers, MatrixMultiply) {
  {
    Unary session({2, 3});
    ITensor* b = session.constant({2, 3}, {1, 0, 0, 0, 1, 1});
    auto* layer = session.network->addMatrixMultiply(*session.x, MatrixOperation::kNONE, *b,
                                                     MatrixOperation::kTRANSPOSE);
    expect_near(session.apply(layer, {1, 2, 3, 4, 5, 6}), {1, 5, 4, 11});
  }
  {
    Unary session({2, 3});
    ITensor* v = session.constant({3}, {1, 2, 3});
    auto* layer = session.network->addMatrixMultiply(*session.x, MatrixOperation::kNONE, *v,
                                                     MatrixOperation::kVECTOR);
    EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, 1);
    expect_near(session.apply(layer, {1, 2, 3, 4, 5, 6}), {14, 32});
  }
}

TEST(Layers, Einsum) {
  Unary session({2, 2});
  ITensor* b = session.constant({2, 2}, {1, 2, 3, 4});
  ITensor* inputs[] = {session.x, b};
  auto* layer = session.network->addEinsum(inputs, 2, "ij,jk->ik");
  expect_near(session.apply(layer, {1, 1, 1, 2}), {4, 6, 7, 10});
}

TEST(Layers, ReduceTopKSoftmaxCumulative) {
  {
    Unary session({2, 3});
    auto* layer = session.network->addReduce(*session.x, ReduceOperation::kAVG, 1U << 1, false);
    EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, 1);
    expect_near(session.apply(layer, {1, 2, 3, 4, 5, 9}), {2, 6});
  }
  {
    Unary session({2, 3});
    auto* layer =
        session.network->addTopK(*session.x, TopKOperation::kMAX, 2, 1U << 1, DataType::kINT32);
    EXPECT_EQ(layer->getOutput(1)->getType(), DataType::kINT32);
    session.output(layer->getOutput(1), "index");
    session.output(layer->getOutput(0), "y");
    Arrays outputs = session.run({{"x", floats({2, 3}, {1, 3, 2, 9, 7, 8})}});
    expect_near(outputs["y"], {3, 2, 9, 8});
    EXPECT_EQ(outputs["index"].values<int32_t>(), (std::vector<int32_t>{1, 2, 0, 2}));
  }
  {
    Unary session({1, 2});
    auto* layer = session.network->addSoftMax(*session.x);
    EXPECT_EQ(layer->getAxes(), 1U);
    layer->setAxes(1U << 1);
    const float e = std::exp(1.0F);
    expect_near(session.apply(layer, {1, 2}), {1 / (1 + e), e / (1 + e)});
  }
  {
    Unary session({4});
    ITensor* axis = session.constant32({}, {0});
    auto* layer =
        session.network->addCumulative(*session.x, *axis, CumulativeOperation::kSUM, true, false);
    expect_near(session.apply(layer, {1, 2, 3, 4}), {0, 1, 3, 6});
  }
  {
    Unary session({2, 3});
    ITensor* bounds = session.constant32({2, 1}, {1, 2});
    auto* layer = session.network->addRaggedSoftMax(*session.x, *bounds);
    expect_near(session.apply(layer, {1, 2, 3, 5, 5, 5}), {1, 0, 0, 0.5F, 0.5F, 0});
  }
}

TEST(Layers, ShuffleTransposesReshapesTransposes) {
  Unary session({2, 3});
  IShuffleLayer* layer = session.network->addShuffle(*session.x);
  layer->setFirstTranspose({1, 0});
  layer->setReshapeDimensions(dims({2, -1}));
  layer->setSecondTranspose({1, 0});
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 2}));
  // [0 3 1 4 2 5] as [[0 3 1] [4 2 5]], transposed.
  expect_near(session.apply(layer, iota(6)), {0, 4, 3, 2, 1, 5});
}

TEST(Layers, ShuffleByATensor) {
  Unary session({2, 3});
  IShuffleLayer* layer = session.network->addShuffle(*session.x);
  layer->setInput(1, *session.constant64({2}, {3, 2}));
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 2}));
  expect_near(session.apply(layer, iota(6)), iota(6));
}

TEST(Layers, SliceModes) {
  const auto slice = [](SampleMode mode, std::initializer_list<int64_t> start,
                        std::initializer_list<int64_t> size,
                        std::initializer_list<int64_t> stride) {
    Unary session({4});
    ISliceLayer* layer =
        session.network->addSlice(*session.x, dims(start), dims(size), dims(stride));
    layer->setMode(mode);
    if (mode == SampleMode::kFILL) layer->setInput(4, *session.constant({}, {-1}));
    return session.apply(layer, {0, 1, 2, 3}).values<float>();
  };
  EXPECT_EQ(slice(SampleMode::kSTRICT_BOUNDS, {1}, {2}, {2}), (F{1, 3}));
  EXPECT_EQ(slice(SampleMode::kSTRICT_BOUNDS, {3}, {4}, {-1}), (F{3, 2, 1, 0}));
  EXPECT_EQ(slice(SampleMode::kWRAP, {-1}, {6}, {1}), (F{3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(slice(SampleMode::kCLAMP, {-1}, {6}, {1}), (F{0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(slice(SampleMode::kREFLECT, {-2}, {8}, {1}), (F{2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(slice(SampleMode::kFILL, {-1}, {6}, {1}), (F{-1, 0, 1, 2, 3, -1}));
}

TEST(Layers, SlicesWithoutStrideRepeat) {
  const auto slice = [](bool by_tensors) {
    Unary session({2, 3});
    ISliceLayer* layer =
        session.network->addSlice(*session.x, dims({1, 0}), dims({2, 3}), dims({0, 1}));
    if (by_tensors) {
      layer->setInput(1, *session.constant64({2}, {1, 0}));
      layer->setInput(2, *session.constant64({2}, {2, 3}));
      layer->setInput(3, *session.constant64({2}, {0, 1}));
    }
    return session.apply(layer, iota(6)).values<float>();
  };
  EXPECT_EQ(slice(false), (F{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(slice(true), (F{3, 4, 5, 3, 4, 5}));
  // Sizes and strides of data.
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3});
  ISliceLayer* layer = session.network->addSlice(*x, dims({1}), dims({0}), dims({0}));
  layer->setInput(2, *session.input("size", DataType::kINT64, {1}));
  layer->setInput(3, *session.input("stride", DataType::kINT64, {1}));
  session.output(layer->getOutput(0), "y");
  const Array values = floats({3}, {5, 6, 7});
  const auto run = [&](int64_t size, int64_t stride) {
    return session
        .run({{"x", values},
              {"size", integers({1}, {size})},
              {"stride", integers({1}, {stride})}})["y"]
        .values<float>();
  };
  EXPECT_EQ(run(4, 0), (F{6, 6, 6, 6}));
  EXPECT_EQ(run(2, 1), (F{6, 7}));
  EXPECT_EQ(run(2, -1), (F{6, 5}));
}

TEST(Layers, SliceByTensors) {
  Unary session({2, 4});
  ISliceLayer* layer = session.network->addSlice(*session.x, Dims{}, Dims{}, dims({1, 1}));
  layer->setInput(1, *session.constant64({2}, {1, 1}));
  layer->setInput(2, *session.constant64({2}, {1, 2}));
  expect_near(session.apply(layer, iota(8)), {5, 6});
}

TEST(Layers, SlicesAreAsLargeAsTheyAreAsked) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 3});
  ISliceLayer* layer = session.network->addSlice(*x, dims({1, 0}), dims({2, 2}), dims({1, 1}));
  session.output(layer->getOutput(0), "y");
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 2}));
  session.profile("x", {2, 3}, {4, 3}, {4, 3});
  ASSERT_TRUE(session.build());
  EXPECT_EQ(extents_of(session.engine->getTensorShape("y")), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(session.run({{"x", floats({4, 3}, iota(12))}})["y"].values<float>(), (F{3, 4, 6, 7}));
  EXPECT_FALSE(session.try_run({{"x", floats({2, 3}, iota(6))}}).has_value());
  EXPECT_EQ(session.log.warnings.size(), 1U) << session.log.text();
}

TEST(Layers, SlicesByComputedBoundsAreAsLargeAsTheyAreAsked) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 3});
  ITensor* rows =
      session.network
          ->addSlice(*session.network->addShape(*x)->getOutput(0), dims({0}), dims({1}), dims({1}))
          ->getOutput(0);
  ITensor* last =
      session.network
          ->addElementWise(*rows, *session.constant64({1}, {1}), ElementWiseOperation::kSUB)
          ->getOutput(0);
  ITensor* starts[] = {last, session.constant64({1}, {0})};
  ISliceLayer* layer = session.network->addSlice(*x, Dims{}, dims({1, 3}), dims({1, 1}));
  layer->setInput(1, *session.network->addConcatenation(starts, 2)->getOutput(0));
  session.output(layer->getOutput(0), "y");
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 3}));
  session.profile("x", {1, 3}, {2, 3}, {4, 3});
  EXPECT_EQ(session.run({{"x", floats({2, 3}, iota(6))}})["y"].values<float>(), (F{3, 4, 5}));
  EXPECT_TRUE(session.log.warnings.empty()) << session.log.text();
}

TEST(Layers, ConcatenationPaddingSqueeze) {
  Unary session({1, 2});
  ITensor* inputs[] = {session.x, session.constant({1, 1}, {7})};
  IConcatenationLayer* joined = session.network->addConcatenation(inputs, 2);
  joined->setAxis(1);
  auto* padded = session.network->addPaddingNd(*joined->getOutput(0), dims({0, 1}), dims({1, -1}));
  auto* wide = session.network->addUnsqueeze(*padded->getOutput(0), *session.constant64({1}, {0}));
  EXPECT_EQ(extents_of(wide->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 2, 3}));
  auto* layer = session.network->addSqueeze(*wide->getOutput(0), *session.constant64({1}, {0}));
  expect_near(session.apply(layer, {1, 2}), {0, 1, 2, 0, 0, 0});
}

TEST(Layers, Gathers) {
  {
    Unary session({2, 3});
    auto* layer = session.network->addGather(*session.x, *session.constant32({2}, {2, 0}), 1);
    expect_near(session.apply(layer, iota(6)), {2, 0, 5, 3});
  }
  {
    Unary session({2, 3});
    auto* layer = session.network->addGatherV2(*session.x, *session.constant32({2, 1}, {2, 0}),
                                               GatherMode::kELEMENT);
    layer->setGatherAxis(1);
    expect_near(session.apply(layer, iota(6)), {2, 3});
  }
  {
    Unary session({2, 3});
    auto* layer = session.network->addGatherV2(*session.x, *session.constant32({1, 2}, {1, 2}),
                                               GatherMode::kND);
    expect_near(session.apply(layer, iota(6)), {5});
  }
  {
    Unary session({2, 2, 3});
    auto* layer =
        session.network->addGather(*session.x, *session.constant32({2, 2}, {2, 0, 1, 1}), 2);
    layer->setNbElementWiseDims(1);
    EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 2, 2}));
    expect_near(session.apply(layer, iota(12)), {2, 0, 5, 3, 7, 7, 10, 10});
  }
}

TEST(Layers, ScatterOneHotNonZero) {
  {
    Unary session({3});
    auto* layer = session.network->addScatter(*session.x, *session.constant32({1, 1}, {1}),
                                              *session.constant({1}, {9}), ScatterMode::kND);
    expect_near(session.apply(layer, {1, 2, 3}), {1, 9, 3});
  }
  {
    Session session;
    ITensor* x = session.input("x", DataType::kINT32, {2});
    auto* layer = session.network->addOneHot(*x, *session.constant({2}, {0, 5}),
                                             *session.constant32({}, {3}), -1);
    session.output(layer->getOutput(0), "y");
    Arrays outputs = session.run({{"x", integers32({2}, {2, 0})}});
    expect_near(outputs["y"], {0, 0, 5, 5, 0, 0});
  }
  {
    Unary session({2, 2});
    auto* layer = session.network->addNonZero(*session.x, DataType::kINT64);
    const Array y = session.apply(layer, {0, 1, 2, 0});
    EXPECT_EQ(y.extents, (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(y.values<int64_t>(), (std::vector<int64_t>{0, 1, 1, 0}));
  }
}

TEST(Layers, Resize) {
  Unary session({1, 1, 2, 2});
  IResizeLayer* layer = session.network->addResize(*session.x);
  layer->setOutputDimensions(dims({1, 1, 4, 2}));
  expect_near(session.apply(layer, {1, 2, 3, 4}), {1, 2, 1, 2, 3, 4, 3, 4});
  Unary linear({1, 1, 1, 2});
  layer = linear.network->addResize(*linear.x);
  const float scales[] = {1, 1, 1, 2};
  layer->setScales(scales, 4);
  layer->setResizeMode(InterpolationMode::kLINEAR);
  layer->setCoordinateTransformation(ResizeCoordinateTransformation::kHALF_PIXEL);
  expect_near(linear.apply(layer, {0, 4}), {0, 1, 3, 4});
}

TEST(Layers, GridSample) {
  Unary session({1, 1, 2, 2});
  ITensor* grid = session.constant({1, 1, 2, 2}, {-1, -1, 1, 1});
  auto* layer = session.network->addGridSample(*session.x, *grid);
  layer->setAlignCorners(true);
  expect_near(session.apply(layer, {1, 2, 3, 4}), {1, 4});
}

TEST(Layers, Normalizations) {
  const float s = 1 / std::sqrt(1.25F + 1e-5F);
  const F normal = {-1.5F * s, -0.5F * s, 0.5F * s, 1.5F * s};
  {
    Unary session({1, 4});
    auto* layer =
        session.network->addNormalizationV2(*session.x, *session.constant({1, 4}, F(4, 1)),
                                            *session.constant({1, 4}, F(4, 0)), 1U << 1);
    expect_near(session.apply(layer, {1, 2, 3, 4}), normal);
  }
  {
    Unary session({1, 2, 2, 2});
    auto* layer = session.network->addNormalization(
        *session.x, *session.constant({1, 2, 1, 1}, {1, 2}),
        *session.constant({1, 2, 1, 1}, {0, 1}), (1U << 2) | (1U << 3));
    F expected = normal;
    for (float value : normal) expected.push_back(2 * value + 1);
    expect_near(session.apply(layer, {1, 2, 3, 4, 1, 2, 3, 4}), expected);
  }
  {
    Unary session({1, 4, 1, 1});
    auto* layer =
        session.network->addNormalization(*session.x, *session.constant({1, 1, 1, 1}, {1}),
                                          *session.constant({1, 1, 1, 1}, {0}), 1U << 1);
    expect_near(session.apply(layer, {1, 2, 3, 4}), normal);
  }
  {
    Unary session({1, 4, 1, 2});
    auto* layer = session.network->addNormalization(
        *session.x, *session.constant({1, 2, 1, 1}, {1, 2}),
        *session.constant({1, 2, 1, 1}, {0, 1}), (1U << 2) | (1U << 3));
    layer->setNbGroups(2);
    F expected = normal;
    for (float value : normal) expected.push_back(2 * value + 1);
    expect_near(session.apply(layer, {1, 2, 3, 4, 1, 2, 3, 4}), expected);
  }
}

TEST(Layers, LrnAndParametricRelu) {
  {
    Unary session({1, 2, 1, 1});
    auto* layer = session.network->addLRN(*session.x, 3, 3, 1, 1);
    expect_near(session.apply(layer, {1, 2}), {1.0F / 6, 2.0F / 6});
  }
  {
    Unary session({2, 2});
    auto* layer = session.network->addParametricReLU(*session.x, *session.constant({1, 2}, {2, 3}));
    expect_near(session.apply(layer, {-1, -1, 1, 1}), {-2, -3, 1, 1});
  }
}

TEST(Layers, FillsAndShapes) {
  {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {2, 3});
    auto* shape = session.network->addShape(*x);
    EXPECT_TRUE(shape->getOutput(0)->isShapeTensor());
    auto* fill = session.network->addFill(Dims{}, FillOperation::kLINSPACE, DataType::kFLOAT);
    fill->setInput(0, *shape->getOutput(0));
    fill->setInput(1, *session.constant({}, {1}));
    fill->setInput(2, *session.constant({2}, {10, 1}));
    EXPECT_EQ(extents_of(fill->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 3}));
    auto* sum =
        session.network->addElementWise(*x, *fill->getOutput(0), ElementWiseOperation::kSUM);
    session.output(sum->getOutput(0), "y");
    Arrays outputs = session.run({{"x", floats({2, 3}, F(6, 0))}});
    expect_near(outputs["y"], {1, 2, 3, 11, 12, 13});
  }
  {
    Session session;
    auto* fill =
        session.network->addFill(dims({1000}), FillOperation::kRANDOM_UNIFORM, DataType::kFLOAT);
    fill->setAlpha(2);
    fill->setBeta(3);
    session.output(fill->getOutput(0), "y");
    Arrays outputs = session.run({});
    double sum = 0;
    for (float value : outputs["y"].values<float>()) {
      EXPECT_GE(value, 2);
      EXPECT_LT(value, 3);
      sum += value;
    }
    EXPECT_NEAR(sum / 1000, 2.5, 0.05);
  }
  {
    Session session;
    auto* fill = session.network->addFill(dims({3}), FillOperation::kLINSPACE, DataType::kINT64);
    fill->setAlphaInt64(int64_t{1} << 60);
    fill->setBetaInt64(2);
    EXPECT_TRUE(fill->isAlphaBetaInt64());
    session.output(fill->getOutput(0), "y");
    const int64_t big = int64_t{1} << 60;
    EXPECT_EQ(session.run({})["y"].values<int64_t>(),
              (std::vector<int64_t>{big, big + 2, big + 4}));
  }
}

/// Until it is told a size, as interpolations that differ in their coefficients alone are made.
TEST(Layers, ResizeIsAsLargeAsItsInputAtFirst) {
  Unary session({1, 1, 1, 2});
  IResizeLayer* layer = session.network->addResize(*session.x);
  layer->setResizeMode(InterpolationMode::kCUBIC);
  layer->setCubicCoeff(0.5F);
  EXPECT_EQ(extents_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 1, 1, 2}));
  expect_near(session.apply(layer, {1, 5}), {1, 5});
}

TEST(Layers, ZeroPointsMayBeReals) {
  Unary session({2, 2});
  ITensor *scale = session.constant({2}, {0.5F, 0.25F}), *zero = session.constant({2}, {0, 0});
  auto* q = session.network->addQuantize(*session.x, *scale, DataType::kINT8);
  q->setAxis(1);
  q->setInput(2, *zero);
  auto* dq = session.network->addDequantize(*q->getOutput(0), *scale, DataType::kFLOAT);
  dq->setAxis(1);
  dq->setInput(2, *zero);
  expect_near(session.apply(dq, {1.1F, 1.1F, -2, 100}), {1, 1, -2, 127 * 0.25F});
}

TEST(Layers, QuantizeAndDequantize) {
  Unary session({1, 3});
  ITensor* scale = session.constant({}, {0.5F});
  auto* q = session.network->addQuantize(*session.x, *scale, DataType::kINT8);
  EXPECT_EQ(q->getOutput(0)->getType(), DataType::kINT8);
  auto* dq = session.network->addDequantize(*q->getOutput(0), *scale, DataType::kFLOAT);
  expect_near(session.apply(dq, {0.6F, -0.9F, 100}), {0.5F, -1, 63.5F});
}

TEST(Layers, DynamicQuantizeInBlocks) {
  Unary session({1, 32});
  auto* q =
      session.network->addDynamicQuantize(*session.x, 1, 16, DataType::kFP8, DataType::kFLOAT);
  EXPECT_EQ(extents_of(q->getOutput(1)->getDimensions()), (std::vector<int64_t>{1, 2}));
  auto* dq = session.network->addDequantize(*q->getOutput(0), *q->getOutput(1), DataType::kFLOAT);
  F values(32, 1.0F);
  values[0] = 448;
  values[16] = 2;
  expect_near(session.apply(dq, values), values, 0.05F);
}

TEST(Layers, DynamicQuantizeInTiles) {
  Unary session({4, 4});
  auto* q = session.network->addDynamicQuantizeV2(*session.x, Dims2(2, 2), DataType::kFP8,
                                                  DataType::kFLOAT);
  EXPECT_EQ(extents_of(q->getOutput(1)->getDimensions()), (std::vector<int64_t>{2, 2}));
  auto* dq = session.network->addDequantize(*q->getOutput(0), *q->getOutput(1), DataType::kFLOAT);
  // Each tile's largest number is one that FP8 has, its others are far below: by a common scale
  // they would be lost.
  const F values = {448, 224, 0.5F, 0.25F, 112, 56, 0.125F, 0.5F, 4, 2, 64, 32, 1, 4, 16, 8};
  expect_near(session.apply(dq, values), values);
  Unary uneven({4, 6});
  uneven.network->addDynamicQuantizeV2(*uneven.x, Dims2(2, 4), DataType::kFP8, DataType::kFLOAT)
      ->getOutput(0)
      ->getDimensions();
  EXPECT_TRUE(uneven.log.complained("blocks of 4"));
}

TEST(Layers, CastsAndOutputTypes) {
  Unary session({3});
  auto* cast = session.network->addCast(*session.x, DataType::kINT32);
  EXPECT_EQ(session.apply(cast, {1.7F, -1.7F, 3}).values<int32_t>(),
            (std::vector<int32_t>{1, -1, 3}));
  Unary other({2});
  auto* identity = other.network->addIdentity(*other.x);
  identity->setOutputType(0, DataType::kINT32);
  EXPECT_TRUE(identity->outputTypeIsSet(0));
  EXPECT_EQ(identity->getOutput(0)->getType(), DataType::kINT32);
  EXPECT_EQ(other.apply(identity, {4, 5}).values<int32_t>(), (std::vector<int32_t>{4, 5}));
}

TEST(Layers, NonMaximumSuppression) {
  Session session;
  ITensor* boxes = session.input("boxes", DataType::kFLOAT, {1, 3, 4});
  ITensor* scores = session.input("scores", DataType::kFLOAT, {1, 3, 1});
  auto* layer =
      session.network->addNMS(*boxes, *scores, *session.constant32({}, {3}), DataType::kINT32);
  layer->setInput(3, *session.constant({}, {0.5F}));
  session.output(layer->getOutput(0), "y");
  session.output(layer->getOutput(1), "count");
  Arrays outputs =
      session.run({{"boxes", floats({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 2, 2, 3, 3})},
                   {"scores", floats({1, 3, 1}, {0.9F, 0.8F, 0.7F})}});
  EXPECT_EQ(outputs["y"].values<int32_t>(), (std::vector<int32_t>{0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(outputs["count"].values<int32_t>(), (std::vector<int32_t>{2}));
}

TEST(Layers, ReverseSequence) {
  Unary session({3, 2});
  auto* layer = session.network->addReverseSequence(*session.x, *session.constant64({2}, {3, 2}));
  expect_near(session.apply(layer, iota(6)), {4, 3, 2, 1, 0, 5});
}

TEST(Layers, AttentionWithMaskAndCausality) {
  Session session;
  ITensor* q = session.input("q", DataType::kFLOAT, {1, 1, 2, 2});
  ITensor* k = session.input("k", DataType::kFLOAT, {1, 1, 2, 2});
  ITensor* v = session.input("v", DataType::kFLOAT, {1, 1, 2, 2});
  IAttention* attention =
      session.network->addAttention(*q, *k, *v, AttentionNormalizationOp::kSOFTMAX, true);
  ASSERT_NE(attention, nullptr);
  EXPECT_TRUE(attention->setName("att"));
  session.output(attention->getOutput(0), "y");
  Arrays outputs = session.run({{"q", floats({1, 1, 2, 2}, {1, 0, 0, 1})},
                                {"k", floats({1, 1, 2, 2}, {1, 0, 0, 2})},
                                {"v", floats({1, 1, 2, 2}, {1, 2, 3, 4})}});
  const float a = 1 / (1 + std::exp(2.0F));  // Scores 0 and 2: the products are not scaled.
  expect_near(outputs["y"], {1, 2, a + 3 * (1 - a), 2 * a + 4 * (1 - a)});
}

TEST(Layers, AttentionThatIsNotDecomposableIsRemarkedWhereItIs) {
  for (const bool decomposable : {false, true})
    for (const auto operation :
         {AttentionNormalizationOp::kSOFTMAX, AttentionNormalizationOp::kNONE}) {
      Session session;
      ITensor* x = session.input("x", DataType::kFLOAT, {1, 1, 2, 2});
      IAttention* attention = session.network->addAttention(*x, *x, *x, operation, false);
      EXPECT_TRUE(attention->setName("att"));
      EXPECT_TRUE(attention->setDecomposable(decomposable));
      session.output(attention->getOutput(0), "y");
      ASSERT_TRUE(session.build());
      const auto& warnings = session.log.warnings;
      const bool remarked = std::any_of(warnings.begin(), warnings.end(), [](const std::string& w) {
        return w.find("attention 'att' takes several kernels") != std::string::npos;
      });
      EXPECT_EQ(remarked, !decomposable && operation == AttentionNormalizationOp::kNONE);
    }
}

TEST(Layers, RotaryEmbeddingAndCache) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 1, 1, 2});
  auto* rotary = session.network->addRotaryEmbedding(*x, *session.constant({1, 1, 1}, {0}),
                                                     *session.constant({1, 1, 1}, {1}), false, 0);
  auto* update = session.network->addKVCacheUpdate(
      *session.constant({1, 1, 2, 2}, {0, 0, 0, 0}), *rotary->getOutput(0),
      *session.constant64({1}, {1}), KVCacheMode::kLINEAR);
  session.output(update->getOutput(0), "y");
  expect_near(session.run({{"x", floats({1, 1, 1, 2}, {3, 5})}})["y"], {0, 0, -5, 3});
}

TEST(Layers, MixtureOfExperts) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 1});
  ITensor* chosen = session.input("chosen", DataType::kINT32, {2, 1});
  IMoELayer* layer = session.network->addMoE(*x, *chosen, *session.constant({2, 1}, {1, 0.5F}));
  layer->setGatedWeights(*session.constant({2, 1, 1}, {1, 2}), *session.constant({2, 1, 1}, {3, 4}),
                         *session.constant({2, 1, 1}, {5, 6}), MoEActType::kNONE);
  session.output(layer->getOutput(0), "y");
  Arrays outputs =
      session.run({{"x", floats({2, 1}, {1, 2})}, {"chosen", integers32({2, 1}, {0, 1})}});
  expect_near(outputs["y"], {15, 0.5F * (2 * 2 * 2 * 4 * 6)});
}

TEST(Layers, AssertionHoldsOrFails) {
  Unary session({2});
  ITensor* zero = session.constant({1}, {0});
  auto* positive =
      session.network->addElementWise(*session.x, *zero, ElementWiseOperation::kGREATER);
  auto* assertion = session.network->addAssertion(*positive->getOutput(0), "x must be positive");
  EXPECT_EQ(assertion->getNbOutputs(), 0);
  EXPECT_STREQ(assertion->getMessage(), "x must be positive");
  expect_near(session.apply(session.network->addIdentity(*session.x), {1, 2}), {1, 2});
  GrowingOutput out;
  session.context->setOutputAllocator("y", &out);
  const F bad = {1, -2};
  Memory memory(bad.size() * sizeof(float));
  std::memcpy(memory.data(), bad.data(), bad.size() * sizeof(float));
  session.context->setTensorAddress("x", memory.data());
  EXPECT_FALSE(session.context->enqueueV3(nullptr));
  EXPECT_TRUE(session.log.complained("x must be positive"));
}

}  // namespace
}  // namespace api_test
