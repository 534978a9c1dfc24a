// IParserRefitter over a refitter that only listens.
#include <map>

#include "fixture.h"
#include "surface/implementation.h"

namespace tenon {
namespace {

using nvinfer1::TensorLocation;
using nvinfer1::Weights;
using nvinfer1::WeightsRole;

class Listener final : public surface::Implementation<nvinfer1::IRefitter> {
 public:
  std::vector<const char*> names;  ///< The weights that can be refitted.
  std::map<std::string, std::vector<float>> given;

  bool setNamedWeights(const char* name, Weights weights) noexcept override {
    const auto* values = static_cast<const float*>(weights.values);
    if (weights.type != nvinfer1::DataType::kFLOAT) return false;
    given[name].assign(values, values + weights.count);
    return true;
  }
  int32_t getAllWeights(int32_t size, const char** into) noexcept override {
    for (size_t i = 0; i < names.size() && i < static_cast<size_t>(size); ++i) into[i] = names[i];
    return static_cast<int32_t>(names.size());
  }
  bool setWeights(const char*, WeightsRole, Weights) noexcept override { return false; }
  bool refitCudaEngine() noexcept override { return true; }
  int32_t getMissing(int32_t, const char**, WeightsRole*) noexcept override { return 0; }
  int32_t getAll(int32_t, const char**, WeightsRole*) noexcept override { return 0; }
  bool setDynamicRange(const char*, float, float) noexcept override { return false; }
  float getDynamicRangeMin(const char*) const noexcept override { return 0; }
  float getDynamicRangeMax(const char*) const noexcept override { return 0; }
  int32_t getTensorsWithDynamicRange(int32_t, const char**) const noexcept override { return 0; }
  void setErrorRecorder(nvinfer1::IErrorRecorder*) noexcept override {}
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }
  int32_t getMissingWeights(int32_t, const char**) noexcept override { return 0; }
  nvinfer1::ILogger* getLogger() const noexcept override { return nullptr; }
  bool setMaxThreads(int32_t) noexcept override { return true; }
  int32_t getMaxThreads() const noexcept override { return 1; }
  bool setNamedWeightsWithLocation(const char*, Weights, TensorLocation) noexcept override {
    return false;
  }
  Weights getNamedWeights(const char*) const noexcept override { return {}; }
  TensorLocation getWeightsLocation(const char*) const noexcept override {
    return TensorLocation::kHOST;
  }
  bool unsetNamedWeights(const char*) noexcept override { return false; }
  void setWeightsValidation(bool) noexcept override {}
  bool getWeightsValidation() const noexcept override { return true; }
  bool refitCudaEngineAsync(cudaStream_t) noexcept override { return true; }
  Weights getWeightsPrototype(const char*) const noexcept override { return {}; }
};

class RefitterTest : public testing::Test {
 protected:
  RefitterTest() : parser(nvonnxparser::createParserRefitter(listener, log)) {
    listener.names = {"w"};
  }
  bool refit(const ModelBuilder& model) {
    const std::string bytes = model.bytes();
    return parser->refitFromBytes(bytes.data(), bytes.size());
  }

  Log log;
  Listener listener;
  std::unique_ptr<nvonnxparser::IParserRefitter> parser;
};

TEST_F(RefitterTest, InitializersAreHandedOver) {
  ASSERT_TRUE(refit(sum_with_weights())) << log.text;
  EXPECT_EQ(listener.given["w"], (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(RefitterTest, OtherInitializersAreNot) {
  ModelBuilder model = sum_with_weights();
  model.weight("v", {1}).add_float_data(1);
  ASSERT_TRUE(refit(model)) << log.text;
  EXPECT_EQ(listener.given.size(), 1U);
}

TEST_F(RefitterTest, ModelsWithoutTheWeightsAreRefused) {
  ModelBuilder model = sum_with_weights();
  model.graph().mutable_initializer(0)->set_name("u");
  EXPECT_FALSE(refit(model));
  ASSERT_EQ(parser->getNbErrors(), 1);
  EXPECT_EQ(parser->getError(0)->code(), nvonnxparser::ErrorCode::kREFIT_FAILED);
}

/// Constants are tensors, numbers or lists, also in functions, whose names carry the call in front.
TEST_F(RefitterTest, ConstantsOfAllFormsAreHandedOver) {
  ModelBuilder model = sum_with_weights();
  auto* half = model.node("Constant", {}, {"half"}).add_attribute();
  half->set_name("value_float"), half->set_type(::onnx::AttributeProto::FLOAT), half->set_f(0.5F);
  auto* list = model.node("Constant", {}, {"list"}).add_attribute();
  list->set_name("value_floats"), list->set_type(::onnx::AttributeProto::FLOATS);
  list->add_floats(1), list->add_floats(2);
  auto* function = model.model().add_functions();
  function->set_domain("own"), function->set_name("Third");
  auto* inner = function->add_node();
  inner->set_op_type("Constant"), inner->add_output("c");
  auto* third = inner->add_attribute();
  third->set_name("value_float"), third->set_type(::onnx::AttributeProto::FLOAT), third->set_f(3);
  auto& call = model.node("Third", {}, {"t"});
  call.set_domain("own"), call.set_name("call");
  listener.names = {"w", "half", "list", "call/c"};
  ASSERT_TRUE(refit(model)) << log.text;
  EXPECT_EQ(listener.given["half"], (std::vector<float>{0.5F}));
  EXPECT_EQ(listener.given["list"], (std::vector<float>{1, 2}));
  EXPECT_EQ(listener.given["call/c"], (std::vector<float>{3}));
}

TEST_F(RefitterTest, FunctionsWithoutEndAreRefused) {
  ModelBuilder model = sum_with_weights();
  auto* function = model.model().add_functions();
  function->set_domain("own"), function->set_name("Itself");
  auto* inner = function->add_node();
  inner->set_op_type("Itself"), inner->set_domain("own"), inner->add_output("y");
  model.node("Itself", {}, {"t"}).set_domain("own");
  EXPECT_FALSE(refit(model));
}

TEST_F(RefitterTest, DamagedModelsAreRefused) {
  EXPECT_FALSE(parser->refitFromBytes("nonsense", 8));
  EXPECT_FALSE(parser->refitFromBytes(nullptr, 8));
  EXPECT_FALSE(parser->refitFromFile("/nowhere/model.onnx"));
  EXPECT_FALSE(parser->refitFromFile(nullptr));
  EXPECT_EQ(parser->getNbErrors(), 4);
}

TEST_F(RefitterTest, SuppliedInitializersCount) {
  const std::string bytes = sum_with_weights().bytes();
  const float values[] = {9, 8, 7, 6};
  ASSERT_TRUE(parser->loadModelProto(bytes.data(), bytes.size()));
  ASSERT_TRUE(parser->loadInitializer("w", values, sizeof(values)));
  ASSERT_TRUE(parser->refitModelProto()) << log.text;
  EXPECT_EQ(listener.given["w"], (std::vector<float>{9, 8, 7, 6}));
}

}  // namespace
}  // namespace tenon
