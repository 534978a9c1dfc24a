// Nodes that registered plugins answer for: found, given their attributes, built and run.
#include "fixture.h"
#include "plugins.h"

namespace tenon {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;
using ::onnx::AttributeProto;
using plugin_test::OffsetCreator;
using plugin_test::Registered;
using plugin_test::Repeat;
using plugin_test::RepeatCreator;

AttributeProto& attribute(::onnx::NodeProto& node, const char* name,
                          AttributeProto::AttributeType type) {
  AttributeProto& added = *node.add_attribute();
  added.set_name(name);
  added.set_type(type);
  return added;
}
void add_text(::onnx::NodeProto& node, const char* name, const char* text) {
  attribute(node, name, AttributeProto::STRING).set_s(text);
}
void add_float(::onnx::NodeProto& node, const char* name, float value) {
  attribute(node, name, AttributeProto::FLOAT).set_f(value);
}

class OnnxPlugin : public ParserTest {
 protected:
  /// The results of an engine of the parsed network for x.
  std::vector<float> run(std::vector<float> x, size_t results) {
    std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
    std::unique_ptr<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (!plan) return {};
    std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(log));
    std::unique_ptr<nvinfer1::ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (!engine) return {};
    std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
    std::vector<float> y(results);
    context->setTensorAddress("x", x.data());
    context->setTensorAddress("y", y.data());
    return context->enqueueV3(nullptr) ? y : std::vector<float>{};
  }
};

TEST_F(OnnxPlugin, ThirdGenerationParsesAndRuns) {
  Registered<RepeatCreator> registered("test");
  ModelBuilder model;
  model.input("x", {2, 2}).output("y");
  model.node("Neg", {"x"}, {"a"});
  auto& node = model.node("Repeat", {"a"}, {"b"});
  node.set_name("repeat");
  add_text(node, "plugin_namespace", "test");
  add_float(node, "factor", 3);
  model.node("Relu", {"b"}, {"y"});
  ASSERT_TRUE(parse(model)) << log.text;
  EXPECT_EQ(registered.creator.last_phase, nvinfer1::TensorRTPhase::kBUILD);
  EXPECT_EQ(network->getOutput(0)->getDimensions().d[0], 4);
  nvinfer1::ILayer& layer = *network->getLayer(1);
  EXPECT_STREQ(layer.getName(), "repeat");
  ASSERT_EQ(layer.getType(), nvinfer1::LayerType::kPLUGIN_V3);
  auto& plugin = static_cast<nvinfer1::IPluginV3Layer&>(layer).getPlugin();
  auto* core = static_cast<nvinfer1::IPluginV3OneCore*>(
      plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kCORE));
  ASSERT_NE(core, nullptr);
  EXPECT_STREQ(core->getPluginName(), "Repeat");
  EXPECT_STREQ(core->getPluginNamespace(), "test");
  EXPECT_EQ(run({-1, 2, 3, -4}, 8), (std::vector<float>{3, 0, 0, 12, 3, 0, 0, 12})) << log.text;
}

TEST_F(OnnxPlugin, SecondGenerationAnswersForItsDomain) {
  Registered<OffsetCreator> registered("my.domain");
  ModelBuilder model;
  model.input("x", {3}).output("y");
  auto* opset = model.model().add_opset_import();
  opset->set_domain("my.domain");
  opset->set_version(1);
  auto& node = model.node("Offset", {"x"}, {"y"});
  node.set_domain("my.domain");
  add_text(node, "plugin_version", "2");
  add_float(node, "offset", 0.5F);
  ASSERT_TRUE(parse(model)) << log.text;
  nvinfer1::ILayer& layer = *network->getLayer(0);
  ASSERT_EQ(layer.getType(), nvinfer1::LayerType::kPLUGIN_V2);
  nvinfer1::IPluginV2& plugin = static_cast<nvinfer1::IPluginV2Layer&>(layer).getPlugin();
  EXPECT_STREQ(plugin.getPluginType(), "Offset");
  EXPECT_STREQ(plugin.getPluginVersion(), "2");
  EXPECT_EQ(run({1, 2, 3}, 3), (std::vector<float>{1.5F, 2.5F, 3.5F})) << log.text;
}

TEST_F(OnnxPlugin, FunctionsHandTheirAttributesOn) {
  Registered<RepeatCreator> registered("test");
  ModelBuilder model;
  model.input("x", {1, 2}).output("y");
  auto& function = *model.model().add_functions();
  function.set_name("Twice");
  function.set_domain("local");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("scale");
  auto& inner = *function.add_node();
  inner.set_op_type("Repeat");
  inner.add_input("a");
  inner.add_output("b");
  add_text(inner, "plugin_namespace", "test");
  attribute(inner, "factor", AttributeProto::FLOAT).set_ref_attr_name("scale");
  auto* opset = model.model().add_opset_import();
  opset->set_domain("local");
  opset->set_version(1);
  auto& node = model.node("Twice", {"x"}, {"y"});
  node.set_domain("local");
  add_float(node, "scale", 5);
  ASSERT_TRUE(parse(model)) << log.text;
  EXPECT_EQ(run({1, 2}, 4), (std::vector<float>{5, 10, 5, 10})) << log.text;
}

TEST_F(OnnxPlugin, LayersOfNoClassNameTheirOperator) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("Hardmax", {"x"}, {"y"});
  ASSERT_TRUE(parse(model)) << log.text;
  nvinfer1::ILayer& layer = *network->getLayer(0);
  ASSERT_EQ(layer.getType(), nvinfer1::LayerType::kPLUGIN_V3);
  auto& plugin = static_cast<nvinfer1::IPluginV3Layer&>(layer).getPlugin();
  auto* core = static_cast<nvinfer1::IPluginV3OneCore*>(
      plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kCORE));
  ASSERT_NE(core, nullptr);
  EXPECT_STREQ(core->getPluginName(), "hardmax");
  // It cannot run elsewhere, and says so.
  std::unique_ptr<nvinfer1::INetworkDefinition> other(builder->createNetworkV2(0));
  nvinfer1::ITensor* x = other->addInput("x", nvinfer1::DataType::kFLOAT, {1, {4}});
  EXPECT_EQ(other->addPluginV3(&x, 1, nullptr, 0, plugin), nullptr);
  EXPECT_NE(log.text.find("clone() gave nothing"), std::string::npos) << log.text;
}

/// Keeps the fields that it is given.
class Keeper final : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection* given,
                                    nvinfer1::TensorRTPhase) noexcept override {
    fields.assign(given->fields, given->fields + given->nbFields);
    for (const PluginField& field : fields) {
      const auto* data = static_cast<const int32_t*>(field.data);
      if (field.type == PluginFieldType::kINT32) integers.assign(data, data + field.length);
    }
    return new Repeat(1);
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &known_; }
  const char* getPluginName() const noexcept override { return "Keeper"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  std::vector<PluginField> fields;  ///< Their data is gone once parsed.
  std::vector<int32_t> integers;

 private:
  PluginField names_[5] = {PluginField("list"), PluginField("text"), PluginField("weights"),
                           PluginField("wide", nullptr, PluginFieldType::kINT64, 1),
                           PluginField("absent")};
  nvinfer1::PluginFieldCollection known_{5, names_};
};

TEST_F(OnnxPlugin, AttributesOfEachKindAreFields) {
  Registered<Keeper> registered("");
  ModelBuilder model;
  model.input("x", {1, 2}).output("y");
  auto& node = model.node("Keeper", {"x"}, {"y"});
  attribute(node, "wide", AttributeProto::INT).set_i(int64_t{1} << 40);
  auto& list = attribute(node, "list", AttributeProto::INTS);
  for (int i = 0; i < 3; ++i) list.add_ints(i - 1);
  add_text(node, "text", "words");
  auto& weights = *attribute(node, "weights", AttributeProto::TENSOR).mutable_t();
  weights.add_dims(2);
  weights.set_data_type(::onnx::TensorProto::FLOAT);
  for (const float value : {0.5F, 1.5F}) weights.add_float_data(value);
  add_text(node, "unknown", "no field");
  ASSERT_TRUE(parse(model)) << log.text;
  const std::vector<PluginField>& fields = registered.creator.fields;
  ASSERT_EQ(fields.size(), 4U);
  const std::pair<PluginFieldType, int32_t> expected[] = {{PluginFieldType::kINT32, 3},
                                                          {PluginFieldType::kCHAR, 5},
                                                          {PluginFieldType::kFLOAT32, 2},
                                                          {PluginFieldType::kINT64, 1}};
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].type, expected[i].first) << i;
    EXPECT_EQ(fields[i].length, expected[i].second) << i;
  }
  EXPECT_EQ(registered.creator.integers, (std::vector<int32_t>{-1, 0, 1}));
}

/// Takes the extents of its output from the elements of a shape input.
class Shaped final : public Repeat {
 public:
  Shaped() : Repeat(1) {}
  nvinfer1::IPluginV3* clone() noexcept override { return new Shaped; }
  const char* getPluginName() const noexcept override { return "Shaped"; }
  int32_t getOutputShapes(const nvinfer1::DimsExprs*, int32_t, const nvinfer1::DimsExprs* shapes,
                          int32_t count, nvinfer1::DimsExprs* outputs, int32_t,
                          nvinfer1::IExprBuilder&) noexcept override {
    if (count != 1) return 1;
    outputs[0] = shapes[0];
    return 0;
  }
  int32_t onShapeChange(const nvinfer1::PluginTensorDesc*, int32_t,
                        const nvinfer1::PluginTensorDesc* out, int32_t) noexcept override {
    return out[0].dims.d[0] * out[0].dims.d[1] == 8 ? 0 : 1;
  }
};

class ShapedCreator final : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection*,
                                    nvinfer1::TensorRTPhase) noexcept override {
    return new Shaped;
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Shaped"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
};

TEST_F(OnnxPlugin, ShapeInputsGiveExtents) {
  Registered<ShapedCreator> registered("test");
  ModelBuilder model;
  model.input("x", {2, 2}).output("y");
  auto& extents = model.weight("extents", {2});
  extents.set_data_type(::onnx::TensorProto::INT64);
  extents.add_int64_data(1);
  extents.add_int64_data(8);
  auto& node = model.node("Shaped", {"extents", "x"}, {"y"});
  add_text(node, "plugin_namespace", "test");
  auto& indices = attribute(node, "tensorrt_plugin_shape_input_indices", AttributeProto::INTS);
  indices.add_ints(-2);
  ASSERT_TRUE(parse(model)) << log.text;
  EXPECT_EQ(network->getOutput(0)->getDimensions().d[1], 8);
  EXPECT_EQ(run({1, 2, 3, 4}, 8), (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4})) << log.text;
  indices.set_ints(0, 2);
  network.reset(builder->createNetworkV2(0));
  parser.reset(nvonnxparser::createParser(*network, log));
  EXPECT_FALSE(parse(model));
  EXPECT_NE(log.text.find("shape input 2"), std::string::npos) << log.text;
}

TEST_F(OnnxPlugin, MissingPluginsOfTensorRTAreNamedWithTheWayOut) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("EfficientNMS_Implicit_TF_TRT", {"x"}, {"y"});
  EXPECT_FALSE(parse(model));
  EXPECT_NE(log.text.find("operator \"EfficientNMS_Implicit_TF_TRT\" of domain \"\" is not known"),
            std::string::npos)
      << log.text;
  EXPECT_NE(log.text.find(
                "TensorRT's plugin of that name is not there: use EfficientNMS_Explicit_TF_TRT"),
            std::string::npos)
      << log.text;
}

TEST_F(OnnxPlugin, WhatIsWrongIsExplained) {
  Registered<OffsetCreator> registered("");
  ModelBuilder model;
  model.input("x", {4}).output("y");
  auto& node = model.node("Offset", {"x"}, {"y"});
  EXPECT_FALSE(parse(model)) << "version 1 is not registered";
  EXPECT_NE(log.text.find("is not imported (registered are 'Offset', version '2', namespace '')"),
            std::string::npos)
      << log.text;
  add_text(node, "plugin_version", "2");
  EXPECT_FALSE(parse(model)) << "without its field";
  EXPECT_NE(log.text.find("made nothing of 0 fields"), std::string::npos) << log.text;
  attribute(node, "offset", AttributeProto::INT).set_i(int64_t{1} << 40);
  EXPECT_FALSE(parse(model));
  EXPECT_NE(log.text.find("does not fit into 32 bits"), std::string::npos) << log.text;
  node.mutable_attribute(1)->set_type(AttributeProto::FLOAT);
  *node.mutable_input(0) = "";
  EXPECT_FALSE(parse(model));
  EXPECT_NE(log.text.find("is left out"), std::string::npos) << log.text;
}

}  // namespace
}  // namespace tenon
