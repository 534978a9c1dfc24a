// IParser as applications see it.
#include "fixture.h"

namespace tenon {
namespace {

using nvonnxparser::ErrorCode;
using nvonnxparser::IParserError;

TEST_F(ParserTest, TensorsAreFoundByNode) {
  ASSERT_TRUE(parse(sum_with_weights())) << log.text;
  const nvinfer1::ITensor* sum = parser->getLayerOutputTensor("sum", 0);
  ASSERT_NE(sum, nullptr);
  EXPECT_STREQ(sum->getName(), "y");
  EXPECT_EQ(parser->getLayerOutputTensor("sum", 1), nullptr);
  EXPECT_EQ(parser->getLayerOutputTensor("none", 0), nullptr);
  EXPECT_EQ(parser->getLayerOutputTensor(nullptr, 0), nullptr);
}

TEST_F(ParserTest, ErrorsSayWhereTheyWereFound) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("Relu", {"x"}, {"a"});
  model.node("Frobnicate", {"a"}, {"b"}).set_name("first");
  model.node("Defenestrate", {"b"}, {"c"}).set_name("second");
  model.node("Softmax", {"a"}, {"y"}).set_name("third");
  auto* axis = model.graph().mutable_node(3)->add_attribute();
  axis->set_name("axis");
  axis->set_type(::onnx::AttributeProto::INT);
  axis->set_i(7);
  EXPECT_FALSE(parse(model));
  ASSERT_EQ(parser->getNbErrors(), 3) << log.text;
  const IParserError& first = *parser->getError(0);
  EXPECT_EQ(first.code(), ErrorCode::kUNSUPPORTED_NODE);
  EXPECT_EQ(first.node(), 1);
  EXPECT_STREQ(first.nodeName(), "first");
  EXPECT_STREQ(first.nodeOperator(), "Frobnicate");
  EXPECT_TRUE(std::string(first.file()).starts_with("src/onnx/")) << first.file();
  EXPECT_GT(first.line(), 0);
  EXPECT_FALSE(std::string(first.func()).empty());
  EXPECT_EQ(parser->getError(1)->node(), 2);
  EXPECT_EQ(parser->getError(2)->node(), 3);
  EXPECT_EQ(parser->getError(3), nullptr);
  parser->clearErrors();
  EXPECT_EQ(parser->getNbErrors(), 0);
}

TEST_F(ParserTest, ErrorsOfTensorsNameThem) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::STRING);
  model.node("Identity", {"x"}, {"y"});
  EXPECT_FALSE(parse(model));
  ASSERT_EQ(parser->getNbErrors(), 1);
  EXPECT_EQ(parser->getError(0)->node(), -1);
  EXPECT_STREQ(parser->getError(0)->file(), "x");
}

/// y = x + w with what TensorRT notes beside a layer.
ModelBuilder sum_with_hints(const char* producer, const std::vector<float>& least) {
  ModelBuilder model = sum_with_weights();
  model.model().set_producer_name(producer);
  auto* node = model.graph().mutable_node(0);
  auto* precision = node->add_attribute();
  precision->set_name("trt_layer_precision");
  precision->set_type(::onnx::AttributeProto::INT);
  precision->set_i(::onnx::TensorProto::FLOAT16);
  const std::vector<float> greatest = {6};
  for (const auto& [name, values] : {std::pair("trt_outputs_range_min", &least),
                                     std::pair("trt_outputs_range_max", &greatest)}) {
    auto* range = node->add_attribute();
    range->set_name(name);
    range->set_type(::onnx::AttributeProto::FLOATS);
    for (const float value : *values) range->add_floats(value);
  }
  return model;
}

TEST_F(ParserTest, LayersOfTensorRTBringTheirPrecisionAndRanges) {
  ASSERT_TRUE(parse(sum_with_hints("TensorRT", {-2}))) << log.text;
  const nvinfer1::ILayer& sum = *network->getLayer(network->getNbLayers() - 1);
  ASSERT_TRUE(sum.precisionIsSet());
  EXPECT_EQ(sum.getPrecision(), nvinfer1::DataType::kHALF);
  ASSERT_TRUE(sum.getOutput(0)->dynamicRangeIsSet());
  EXPECT_EQ(sum.getOutput(0)->getDynamicRangeMin(), -2);
  EXPECT_EQ(sum.getOutput(0)->getDynamicRangeMax(), 6);
}

TEST_F(ParserTest, LayersNameTheirNodes) {
  ModelBuilder model = sum_with_weights();
  model.graph().mutable_node(0)->set_name("sum");
  ASSERT_TRUE(parse(model)) << log.text;
  EXPECT_STREQ(network->getLayer(network->getNbLayers() - 1)->getMetadata(), "[ONNX Layer: sum]");
}

TEST_F(ParserTest, LayersOfOtherProducersBringNone) {
  ASSERT_TRUE(parse(sum_with_hints("pytorch", {-2}))) << log.text;
  EXPECT_FALSE(network->getLayer(network->getNbLayers() - 1)->precisionIsSet());
}

TEST_F(ParserTest, RangesWithoutTheirOtherEndAreRefused) {
  EXPECT_FALSE(parse(sum_with_hints("TensorRT", {})));
  ASSERT_EQ(parser->getNbErrors(), 1);
  EXPECT_EQ(parser->getError(0)->code(), ErrorCode::kINVALID_NODE);
  EXPECT_NE(std::string(parser->getError(0)->desc()).find("0 and 1 numbers"), std::string::npos);
}

TEST_F(ParserTest, ASecondModelIsRefused) {
  ASSERT_TRUE(parse(sum_with_weights()));
  EXPECT_FALSE(parse(sum_with_weights()));
  EXPECT_NE(log.text.find("not empty"), std::string::npos) << log.text;
}

TEST_F(ParserTest, ParsesWithWeightDescriptors) {
  const std::string text = sum_with_weights().bytes();
  EXPECT_TRUE(parser->parseWithWeightDescriptors(text.data(), text.size()));
  EXPECT_GT(network->getNbLayers(), 0);
}

TEST_F(ParserTest, GroupsLieBetweenUnsupportedNodes) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("Relu", {"x"}, {"a"});
  model.node("Frobnicate", {"a"}, {"b"});
  model.node("Relu", {"b"}, {"c"});
  model.node("Neg", {"c"}, {"y"});
  const std::string text = model.bytes();
  EXPECT_FALSE(parser->supportsModelV2(text.data(), text.size()));
  ASSERT_EQ(parser->getNbSubgraphs(), 2);
  int64_t length = 0;
  const int64_t* nodes = parser->getSubgraphNodes(1, length);
  ASSERT_EQ(length, 2);
  EXPECT_EQ(nodes[0], 2);
  EXPECT_EQ(nodes[1], 3);
  EXPECT_FALSE(parser->isSubgraphSupported(0));
  EXPECT_EQ(parser->getSubgraphNodes(2, length), nullptr);
  EXPECT_EQ(network->getNbLayers(), 0) << "a part of a model is in no network";
}

TEST_F(ParserTest, AWholeModelIsOneSupportedGroup) {
  const std::string text = sum_with_weights().bytes();
  EXPECT_TRUE(parser->supportsModelV2(text.data(), text.size()));
  EXPECT_EQ(parser->getNbSubgraphs(), 1);
  EXPECT_TRUE(parser->isSubgraphSupported(0));
  EXPECT_GT(network->getNbLayers(), 0) << "it can be built";
  const int32_t layers = network->getNbLayers();
  SubGraphCollection_t groups;
  EXPECT_TRUE(parser->supportsModel(text.data(), text.size(), groups));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(groups[0].second);
  EXPECT_EQ(network->getNbLayers(), layers) << "asking again adds nothing";
  EXPECT_FALSE(parser->parse(text.data(), text.size()));
}

TEST_F(ParserTest, FlagsAreBits) {
  using nvonnxparser::OnnxParserFlag;
  EXPECT_TRUE(parser->getFlag(OnnxParserFlag::kNATIVE_INSTANCENORM));
  parser->clearFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  EXPECT_EQ(parser->getFlags(), 0U);
  parser->setFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
  EXPECT_EQ(parser->getFlags(), 1U << 3);
}

TEST_F(ParserTest, InitializersCanBeSupplied) {
  ModelBuilder model = sum_with_weights();
  model.graph().mutable_initializer(0)->clear_float_data();
  const std::string text = model.bytes();
  const float values[] = {1, 2, 3, 4};
  EXPECT_FALSE(parser->loadInitializer("w", values, sizeof(values))) << "no model is loaded";
  ASSERT_TRUE(parser->loadModelProto(text.data(), text.size()));
  EXPECT_FALSE(parser->loadInitializer("w", values, 12)) << "too short";
  EXPECT_FALSE(parser->loadInitializer("v", values, sizeof(values))) << "no such tensor";
  ASSERT_TRUE(parser->loadInitializer("w", values, sizeof(values))) << log.text;
  EXPECT_TRUE(parser->parseModelProto()) << log.text;
  EXPECT_EQ(network->getNbOutputs(), 1);
}

TEST_F(ParserTest, DoublesAreFloats) {
  ModelBuilder model;
  model.input("x", {2}).output("y");
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::DOUBLE);
  auto& weights = model.weight("w", {2});
  weights.set_data_type(::onnx::TensorProto::DOUBLE);
  weights.add_double_data(1.5);
  weights.add_double_data(1e300);
  model.node("Add", {"x", "w"}, {"y"});
  ASSERT_TRUE(parse(model)) << log.text;
  EXPECT_EQ(network->getInput(0)->getType(), nvinfer1::DataType::kFLOAT);
  EXPECT_EQ(network->getOutput(0)->getType(), nvinfer1::DataType::kFLOAT);
}

TEST_F(ParserTest, AnInputThatIsAnOutputIsCalledOtherwise) {
  ModelBuilder model;
  model.input("x", {4}).output("x");
  ASSERT_TRUE(parse(model)) << log.text;
  EXPECT_STREQ(network->getInput(0)->getName(), "__x");
  EXPECT_STREQ(network->getOutput(0)->getName(), "x");
  EXPECT_NE(log.text.find("'__x'"), std::string::npos) << log.text;
}

TEST_F(ParserTest, WhatCannotBeBoundIsRefused) {
  ModelBuilder model;
  model.input("x", {2}).output("y");
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::UINT16);
  model.node("Identity", {"x"}, {"y"});
  EXPECT_FALSE(parse(model));
  EXPECT_NE(log.text.find("\"x\""), std::string::npos) << log.text;
  EXPECT_EQ(network->getNbLayers(), 0);

  ModelBuilder many;
  many.input("x", std::vector<int64_t>(9, 1)).output("y");
  many.node("Identity", {"x"}, {"y"});
  EXPECT_FALSE(parse(many));
  EXPECT_NE(log.text.find("9 axes"), std::string::npos) << log.text;
}

TEST_F(ParserTest, OperatorsCanBeAskedFor) {
  EXPECT_TRUE(parser->supportsOperator("Conv"));
  EXPECT_FALSE(parser->supportsOperator("Frobnicate"));
  EXPECT_FALSE(parser->supportsOperator(nullptr));
}

}  // namespace
}  // namespace tenon
