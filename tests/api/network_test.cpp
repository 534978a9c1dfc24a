// Getters of a network: order, names, types, changes, wrong arguments.
#include <limits>

#include "harness.h"

namespace api_test {
namespace {

TEST(Network, KeepsLayersInOrder) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  ILayer* first = session.network->addActivation(*x, ActivationType::kRELU);
  ILayer* second = session.network->addUnary(*first->getOutput(0), UnaryOperation::kEXP);
  EXPECT_EQ(session.network->getNbLayers(), 2);
  EXPECT_EQ(session.network->getLayer(0), first);
  EXPECT_EQ(session.network->getLayer(1), second);
  EXPECT_EQ(session.network->getLayer(2), nullptr);
  EXPECT_EQ(session.network->getLayer(-1), nullptr);
  EXPECT_STREQ(first->getName(), "(Unnamed Layer* 0) [Activation]");
  EXPECT_STREQ(second->getOutput(0)->getName(), "(Unnamed Layer* 1) [Unary]_output");
  second->setName("exp");
  EXPECT_STREQ(second->getName(), "exp");
  EXPECT_EQ(second->getInput(0), first->getOutput(0));
  EXPECT_EQ(second->getInput(1), nullptr);
  EXPECT_EQ(second->getOutput(1), nullptr);
}

TEST(Network, OutputsCanBeMarkedAndUnmarked) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  ITensor* y = session.network->addIdentity(*x)->getOutput(0);
  session.network->markOutput(*y);
  session.network->markOutput(*y);
  EXPECT_EQ(session.network->getNbOutputs(), 1);
  EXPECT_EQ(session.network->getOutput(0), y);
  EXPECT_TRUE(y->isNetworkOutput());
  EXPECT_FALSE(y->isNetworkInput());
  EXPECT_TRUE(x->isNetworkInput());
  session.network->unmarkOutput(*y);
  EXPECT_EQ(session.network->getNbOutputs(), 0);
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("no output"));
}

TEST(Network, InputsAreNoOutputs) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  session.network->markOutput(*x);
  EXPECT_TRUE(session.log.complained("put an identity between"));
  EXPECT_EQ(session.network->getNbOutputs(), 0);
}

TEST(Network, TypesFollowChanges) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 1, 8, 8});
  auto* conv = session.network->addConvolutionNd(*x, 1, dims({3, 3}),
                                                 session.weights(std::vector<float>(9, 1)), {});
  auto* relu = session.network->addActivation(*conv->getOutput(0), ActivationType::kRELU);
  EXPECT_EQ(extents_of(relu->getOutput(0)->getDimensions())[2], 6);
  conv->setStrideNd(dims({2, 2}));
  EXPECT_EQ(extents_of(relu->getOutput(0)->getDimensions())[2], 3);
  conv->setPaddingNd(dims({1, 1}));
  EXPECT_EQ(extents_of(relu->getOutput(0)->getDimensions())[2], 4);
  x->setDimensions(dims({1, 1, 16, 16}));
  EXPECT_EQ(extents_of(relu->getOutput(0)->getDimensions())[2], 8);
  relu->setInput(0, *x);
  EXPECT_EQ(extents_of(relu->getOutput(0)->getDimensions())[2], 16);
}

/// Other parsers cast to the type of a weakly typed network's input, which is computed with in 32
/// bits.
TEST(Network, CastsTo16BitsFitBesideInputsOf16Bits) {
  Session s;
  ITensor* x = s.input("x", DataType::kHALF, {4});
  ITensor* two = s.network->addCast(*s.constant({4}, {2, 2, 2, 2}), DataType::kHALF)->getOutput(0);
  ITensor* y = s.network->addElementWise(*x, *two, ElementWiseOperation::kPROD)->getOutput(0);
  EXPECT_EQ(y->getDimensions().nbDims, 1) << s.log.text();
  s.output(y, "y");
  EXPECT_TRUE(s.build()) << s.log.text();
}

TEST(Network, AMistakeIsSaidOnceAndCanBeMended) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 3});
  ITensor* b = session.input("b", DataType::kFLOAT, {2, 4});
  auto* sum = session.network->addElementWise(*x, *b, ElementWiseOperation::kSUM);
  auto* relu = session.network->addActivation(*sum->getOutput(0), ActivationType::kRELU);
  relu->getOutput(0)->setName("y");
  session.network->markOutput(*relu->getOutput(0));
  EXPECT_EQ(relu->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_EQ(relu->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_EQ(session.log.errors.size(), 1U);
  EXPECT_TRUE(session.log.complained("[ElementWise]"));
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("[ElementWise]"));
  sum->setInput(1, *x);
  EXPECT_EQ(extents_of(relu->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 3}));
  session.network->removeTensor(*b);
  EXPECT_EQ(session.network->getNbInputs(), 1);
  Arrays outputs = session.run({{"x", floats({2, 3}, {1, -1, 2, -2, 3, -3})}});
  expect_near(outputs["y"], {2, 0, 4, 0, 6, 0});
}

TEST(Network, LayerInformation) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  ILayer* layer = session.network->addIdentity(*x);
  EXPECT_FALSE(layer->precisionIsSet());
  layer->setPrecision(DataType::kHALF);
  EXPECT_TRUE(layer->precisionIsSet());
  EXPECT_EQ(layer->getPrecision(), DataType::kHALF);
  layer->resetPrecision();
  EXPECT_FALSE(layer->precisionIsSet());
  EXPECT_STREQ(layer->getMetadata(), "");
  layer->setMetadata("[from a test]");
  EXPECT_STREQ(layer->getMetadata(), "[from a test]");
  EXPECT_EQ(layer->getNbRanks(), 1);
  EXPECT_FALSE(layer->setNbRanks(2));
  EXPECT_TRUE(session.log.complained("one device"));
  EXPECT_EQ(x->getLocation(), TensorLocation::kDEVICE);
  x->setLocation(TensorLocation::kHOST);
  EXPECT_TRUE(session.log.complained("inputs that decide shapes alone"));
  layer->setOutputType(3, DataType::kHALF);
  EXPECT_TRUE(session.log.complained("setOutputType"));
}

TEST(Network, InputsAreChecked) {
  Session session;
  INetworkDefinition& network = *session.network;
  EXPECT_NE(network.addInput("x", DataType::kFLOAT, dims({1, -1})), nullptr);
  EXPECT_EQ(network.addInput("x", DataType::kFLOAT, dims({1})), nullptr);
  EXPECT_TRUE(session.log.complained("'x'"));
  EXPECT_EQ(network.addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
  EXPECT_EQ(network.addInput("", DataType::kFLOAT, dims({1})), nullptr);
  EXPECT_EQ(network.addInput("a", static_cast<DataType>(77), dims({1})), nullptr);
  EXPECT_EQ(network.addInput("a", DataType::kFLOAT, dims({-2})), nullptr);
  Dims many{};
  many.nbDims = 9;
  EXPECT_EQ(network.addInput("a", DataType::kFLOAT, many), nullptr);
  EXPECT_EQ(session.log.errors.size(), 5U);
}

TEST(Network, WrongArgumentsGiveNullAndOneError) {
  Session session;
  INetworkDefinition& n = *session.network;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 2, 4, 4});
  const auto refused = [&](const void* layer, const char* words) {
    EXPECT_EQ(layer, nullptr) << words;
    EXPECT_EQ(session.log.errors.size(), 1U) << session.log.text();
    EXPECT_TRUE(session.log.complained(words));
  };
  refused(n.addActivation(*x, static_cast<ActivationType>(99)), "addActivation");
  refused(n.addUnary(*x, static_cast<UnaryOperation>(-1)), "addUnary");
  refused(n.addElementWise(*x, *x, static_cast<ElementWiseOperation>(99)), "addElementWise");
  refused(n.addConvolutionNd(*x, 0, dims({3, 3}), {}, {}), "output map");
  refused(n.addConvolutionNd(*x, 1, dims({3, 0}), {}, {}), "kernel");
  refused(n.addDeconvolutionNd(*x, 1, dims({1, 1, 1, 1}), {}, {}), "kernel");
  refused(n.addPoolingNd(*x, static_cast<PoolingType>(9), dims({2, 2})), "pooling");
  refused(n.addPoolingNd(*x, PoolingType::kMAX, dims({-2, 2})), "window");
  refused(n.addLRN(*x, 2, 1, 1, 1), "odd");
  refused(n.addScale(*x, static_cast<ScaleMode>(9), {}, {}, {}), "mode");
  refused(n.addScaleNd(*x, ScaleMode::kCHANNEL, {}, {}, {}, -1), "axis");
  refused(n.addConcatenation(nullptr, 1), "input");
  ITensor* none[] = {nullptr};
  refused(n.addConcatenation(none, 1), "null");
  refused(n.addConcatenation(none, 0), "input");
  refused(n.addReduce(*x, ReduceOperation::kSUM, 0, true), "axis");
  refused(n.addReduce(*x, ReduceOperation::kNONE, 1, true), "reduction");
  refused(n.addTopK(*x, TopKOperation::kMAX, -1, 1, DataType::kINT32), "k of at least");
  refused(n.addTopK(*x, TopKOperation::kMAX, 1, 3, DataType::kINT32), "one axis");
  refused(n.addTopK(*x, TopKOperation::kMAX, 1, 1, DataType::kFLOAT), "INT32");
  refused(n.addGatherV2(*x, *x, static_cast<GatherMode>(5)), "mode");
  refused(n.addScatter(*x, *x, *x, static_cast<ScatterMode>(5)), "mode");
  refused(n.addMatrixMultiply(*x, static_cast<MatrixOperation>(5), *x, MatrixOperation::kNONE),
          "matrix");
  refused(n.addNonZero(*x, DataType::kFLOAT), "INT32");
  refused(n.addConstant(dims({2}), session.weights({1})), "as many values");
  refused(n.addConstant(dims({2}), {DataType::kFLOAT, nullptr, 2}), "values");
  refused(n.addCast(*x, static_cast<DataType>(99)), "type");
  refused(n.addSlice(*x, dims({1}), Dims{9, {}}, dims({1})), "8 axes");
  refused(n.addPaddingNd(*x, dims({1}), dims({1})), "2 numbers");
  refused(n.addFill(dims({2}), static_cast<FillOperation>(9), DataType::kFLOAT), "operation");
  refused(n.addAssertion(*x, nullptr), "message");
  refused(n.addQuantize(*x, *x, DataType::kFLOAT), "INT8");
  refused(n.addDequantize(*x, *x, DataType::kINT8), "FLOAT");
  refused(n.addEinsum(none, 1, nullptr), "equation");
  refused(n.addNormalization(*x, *x, *x, 0), "axis");
  refused(n.addNMS(*x, *x, *x, DataType::kFLOAT), "INT32");
  refused(n.addAttention(*x, *x, *x, static_cast<AttentionNormalizationOp>(9), false),
          "normalization");
  refused(n.addRotaryEmbedding(*x, *x, *x, false, 3), "even");
  refused(n.addDynamicQuantize(*x, 1, 0, DataType::kFP8, DataType::kFLOAT), "block");
  int64_t group[] = {0, 0};
  refused(
      n.addDistCollective(*x, CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, 0, group, 2),
      "different ranks");
  refused(n.addDistCollective(*x, CollectiveOperation::kALL_REDUCE, ReduceOperation::kNONE, 0,
                              group, 0),
          "reduction");
  refused(
      n.addDistCollective(*x, CollectiveOperation::kBROADCAST, ReduceOperation::kNONE, 5, group, 1),
      "root");
  EXPECT_EQ(n.getNbLayers(), 0);
}

TEST(Network, SettersRefuseWrongValuesAndKeepTheOld) {
  Session session;
  INetworkDefinition& n = *session.network;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 2, 4, 4});
  const auto refused = [&](const char* words) {
    EXPECT_EQ(session.log.errors.size(), 1U) << session.log.text();
    EXPECT_TRUE(session.log.complained(words));
  };
  auto* conv = n.addConvolutionNd(*x, 1, dims({3, 3}), session.weights(std::vector<float>(18)), {});
  conv->setStrideNd(dims({0, 1}));
  refused("setStrideNd");
  EXPECT_EQ(extents_of(conv->getStrideNd()), (std::vector<int64_t>{1, 1}));
  conv->setPaddingNd(dims({1}));
  refused("setPrePadding");
  conv->setNbGroups(0);
  refused("setNbGroups");
  conv->setPaddingMode(static_cast<PaddingMode>(50));
  refused("setPaddingMode");
  conv->setInput(3, *x);
  refused("setInput");
  conv->setInput(-1, *x);
  refused("setInput");
  conv->setName(nullptr);
  refused("setName");
  auto* pool = n.addPoolingNd(*x, PoolingType::kMAX, dims({2, 2}));
  pool->setBlendFactor(2);
  refused("setBlendFactor");
  auto* shuffle = n.addShuffle(*x);
  shuffle->setReshapeDimensions(dims({-1, -1}));
  refused("setReshapeDimensions");
  auto* topk = n.addTopK(*x, TopKOperation::kMAX, 1, 1, DataType::kINT32);
  EXPECT_FALSE(topk->setIndicesType(DataType::kHALF));
  refused("setIndicesType");
  auto* resize = n.addResize(*x);
  resize->setScales(nullptr, 4);
  refused("setScales");
  auto* norm = n.addNormalization(*x, *x, *x, 1U << 3);
  norm->setEpsilon(std::numeric_limits<float>::quiet_NaN());
  refused("setEpsilon");
  auto* grid = n.addGridSample(*x, *x);
  EXPECT_FALSE(grid->setSampleMode(SampleMode::kWRAP));
  refused("setSampleMode");
}

TEST(Network, WrongShapesAreExplained) {
  const auto explains = [](const char* words, auto&& add) {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {1, 2, 4, 4});
    ILayer* layer = add(session, *x);
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1) << words;
    EXPECT_TRUE(session.log.complained(words));
  };
  explains("weights hold", [](Session& s, ITensor& x) {
    return s.network->addConvolutionNd(x, 1, dims({3, 3}), s.weights({1}), {});
  });
  explains("groups", [](Session& s, ITensor& x) {
    auto* layer = s.network->addConvolutionNd(x, 3, dims({1, 1}), s.weights({1}), {});
    layer->setNbGroups(2);
    return layer;
  });
  explains("axes", [](Session& s, ITensor& x) {
    return s.network->addPoolingNd(x, PoolingType::kMAX, dims({2, 2, 2}));
  });
  explains("batch axes", [](Session& s, ITensor& x) {
    return s.network->addMatrixMultiply(x, MatrixOperation::kNONE, *s.constant({2}, {1, 1}),
                                        MatrixOperation::kNONE);
  });
  explains("permutation", [](Session& s, ITensor& x) {
    auto* layer = s.network->addShuffle(x);
    layer->setFirstTranspose({0, 0, 1, 2});
    return layer;
  });
  explains("leave axis", [](Session& s, ITensor& x) {
    return s.network->addSlice(x, dims({0, 0, 0, 0}), dims({1, 3, 1, 1}), dims({1, 1, 1, 1}));
  });
  explains("output dimensions or scales", [](Session& s, ITensor& x) {
    const float scales[] = {1, 2, 2};
    auto* layer = s.network->addResize(x);
    layer->setScales(scales, 3);
    return layer;
  });
  explains("4 axes of the input", [](Session& s, ITensor& x) {
    ITensor* one = s.constant({2}, {1, 1});
    return s.network->addNormalization(x, *one, *one, 1U << 3);
  });
}

TEST(Network, TensorsOfOtherNetworksAreRefused) {
  Session session, other;
  ITensor* x = session.input("x", DataType::kFLOAT, {2});
  ITensor* foreign = other.input("x", DataType::kFLOAT, {2});
  EXPECT_EQ(session.network->addElementWise(*x, *foreign, ElementWiseOperation::kSUM), nullptr);
  EXPECT_TRUE(session.log.complained("tensors of this network"));
  session.network->markOutput(*foreign);
  EXPECT_TRUE(session.log.complained("tensors of this network"));
}

TEST(Network, DefaultNamesAreThoseOfTensorRT) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {2, 2});
  const auto none = MatrixOperation::kNONE;
  ILayer* product = session.network->addMatrixMultiply(*x, none, *x, none);
  ILayer* shares = session.network->addSoftMax(*product->getOutput(0));
  ILayer* leaky = session.network->addParametricReLU(*shares->getOutput(0), *x);
  ILayer* first = session.network->addNormalization(*x, *x, *x, 2);
  ILayer* second = session.network->addNormalizationV2(*x, *x, *x, 2);
  EXPECT_STREQ(product->getName(), "(Unnamed Layer* 0) [Matrix Multiply]");
  EXPECT_STREQ(shares->getName(), "(Unnamed Layer* 1) [Softmax]");
  EXPECT_STREQ(leaky->getName(), "(Unnamed Layer* 2) [Parametric ReLU]");
  EXPECT_STREQ(first->getName(), "(Unnamed Layer* 3) [Normalization]");
  EXPECT_STREQ(second->getName(), "(Unnamed Layer* 4) [NormalizationV2]");
}

TEST(Network, DynamicShapes) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {-1, 3});
  x->setDimensionName(0, "batch size");
  EXPECT_STREQ(x->getDimensionName(0), "batch size");
  auto* sum = session.network->addReduce(*x, ReduceOperation::kSUM, 1U << 1, true);
  EXPECT_EQ(extents_of(sum->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 1}));
  session.output(sum->getOutput(0), "y");
  session.profile("x", {1, 3}, {2, 3}, {4, 3});
  expect_near(session.run({{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}})["y"], {6, 15});
  expect_near(session.run({{"x", floats({1, 3}, {1, 1, 1})}})["y"], {3});
}

}  // namespace
}  // namespace api_test
