// Sequences vanish at import, or are refused with a reason.
#include <gtest/gtest.h>

#include "models.h"
#include "ops/table.h"

namespace tenon {
namespace {

std::string refusal(const ModelBuilder& model) {
  const Result<ImportedModel> result = model.import();
  return result.ok() ? "" : result.error().message;
}

void set_axis(::onnx::NodeProto& node, int64_t axis) {
  auto* attribute = node.add_attribute();
  attribute->set_name("axis");
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(axis);
}

void integer(ModelBuilder& model, const std::string& name, int64_t value) {
  auto& tensor = model.weight(name, {});
  tensor.set_data_type(::onnx::TensorProto::INT64);
  tensor.add_int64_data(value);
}

TEST(Sequence, SplitAndElementAreSlices) {
  ModelBuilder model;
  model.input("x", {2, 3}).output("y");
  integer(model, "last", -1);
  set_axis(model.node("SplitToSequence", {"x"}, {"s"}), 1);
  model.node("SequenceAt", {"s", "last"}, {"y"});
  const Result<ImportedModel> imported = model.import();
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const float values[] = {1, 2, 3, 4, 5, 6};
  const auto outputs =
      evaluate_graph(*imported->graph, {{Tensor::of<float>(DataType::kFloat32, {2, 3}, values)}});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(outputs->at(0).extents(), (Extents{2, 1}));
  EXPECT_EQ(outputs->at(0).as_double(1), 6);
  EXPECT_FALSE(imported->values.contains("s"));
}

TEST(Sequence, OutputsAreItsElements) {
  ModelBuilder model;
  model.input("x", {2, 3}).output("s");
  model.node("SplitToSequence", {"x"}, {"s"});
  const Result<ImportedModel> imported = model.import();
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  ASSERT_EQ(imported->graph->outputs().size(), 2U);
  EXPECT_EQ(imported->graph->outputs()[1]->name, "s[1]");
}

TEST(Sequence, PositionsOutsideAreRefused) {
  ModelBuilder model;
  model.input("x", {2, 3}).output("y");
  integer(model, "far", 2);
  model.node("SplitToSequence", {"x"}, {"s"});
  model.node("SequenceAt", {"s", "far"}, {"y"}).set_name("culprit");
  EXPECT_NE(refusal(model).find("outside a sequence of 2"), std::string::npos) << refusal(model);
  EXPECT_NE(refusal(model).find("culprit"), std::string::npos);
}

TEST(Sequence, TensorOperatorsRefuseThem) {
  ModelBuilder model;
  model.input("x", {2, 3}).output("y");
  model.node("SequenceConstruct", {"x", "x"}, {"s"});
  model.node("Relu", {"s"}, {"y"}).set_name("culprit");
  EXPECT_NE(refusal(model).find("culprit"), std::string::npos) << refusal(model);
  EXPECT_NE(refusal(model).find("is a sequence"), std::string::npos) << refusal(model);
}

TEST(Sequence, SequenceOperatorsRefuseTensors) {
  for (const char* type : {"SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength",
                           "SequenceMap", "ConcatFromSequence"}) {
    ModelBuilder model;
    model.input("x", {2, 3}).output("y");
    model.node(type, {"x", "x"}, {"y"}).set_name("culprit");
    EXPECT_NE(refusal(model).find("culprit"), std::string::npos) << type << refusal(model);
  }
}

TEST(Sequence, AnEmptyOptionalHasNoElement) {
  ModelBuilder model;
  model.output("y");
  model.node("Optional", {}, {"o"});
  model.node("OptionalGetElement", {"o"}, {"y"}).set_name("culprit");
  EXPECT_NE(refusal(model).find("no element"), std::string::npos) << refusal(model);
}

}  // namespace
}  // namespace tenon
