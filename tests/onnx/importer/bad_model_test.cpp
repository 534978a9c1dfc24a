// Models that must be refused, each with one clear message and no crash.
#include <gtest/gtest.h>

#include "models.h"
#include "onnx/op_table.h"

namespace tenon {
namespace {

/// The message, or "" when the model was imported.
std::string refusal(const ModelBuilder& model) {
  Result<ImportedModel> result = model.import();
  return result.ok() ? "" : result.error().message;
}

#define EXPECT_REFUSED(model, word) \
  EXPECT_NE(refusal(model).find(word), std::string::npos) << refusal(model)

TEST(BadModel, EveryTruncationIsRefusedOrImported) {
  ModelBuilder model;
  model.input("x", {1, 4}).output("y");
  for (int i = 0; i < 4; ++i) model.weight("w", {1, 4}).add_float_data(1);
  model.graph().mutable_initializer()->DeleteSubrange(1, 3);
  for (int i = 0; i < 3; ++i) model.graph().mutable_initializer(0)->add_float_data(1);
  model.node("Add", {"x", "w"}, {"y"});
  const std::string bytes = model.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ImportRequest request;
    request.bytes = std::as_bytes(std::span(bytes).first(size));
    const Result<ImportedModel> result = import_model(request);
    EXPECT_TRUE(result.ok() || !result.error().message.empty());
  }
  EXPECT_EQ(refusal(model), "");
}

TEST(BadModel, EveryByteChangedIsSurvived) {
  ModelBuilder model;
  model.input("x", {1, 4}).output("y");
  model.node("Relu", {"x"}, {"y"});
  std::string bytes = model.bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      ImportRequest request;
      request.bytes = std::as_bytes(std::span(changed));
      const Result<ImportedModel> result = import_model(request);
      EXPECT_TRUE(result.ok() || !result.error().message.empty());
    }
  }
}

/// Each operator with fewer and with more operands than it takes, of several ranks.
TEST(BadModel, AnyNumberOfOperandsIsImportedOrRefused) {
  for (const importer::OpRow& row : importer::op_rows())
    for (const std::vector<int64_t>& extents : {Extents{}, Extents{2}, Extents{2, 3, 4, 4}})
      for (const size_t operands : {0, 1, 2, 3, 12}) {
        ModelBuilder model;
        model.input("x", extents).output("y");
        auto& node =
            model.node(std::string(row.name), std::vector<std::string>(operands, "x"), {"y"});
        node.set_domain(std::string(row.domain));
        if (row.domain.empty()) {
          model.model().mutable_opset_import(0)->set_version(row.first);
        } else {
          auto* const opset = model.model().add_opset_import();
          opset->set_domain(std::string(row.domain));
          opset->set_version(row.first);
        }
        const Result<ImportedModel> result = model.import();
        EXPECT_TRUE(result.ok() || !result.error().message.empty()) << row.name;
      }
}

TEST(BadModel, AllUnsupportedNodesAreListed) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("Frobnicate", {"x"}, {"a"}).set_name("first");
  model.node("Relu", {"a"}, {"b"});
  model.node("Defenestrate", {"b"}, {"y"}).set_name("second");
  std::vector<ImportProblem> problems;
  EXPECT_FALSE(model.import(&problems).ok());
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].node_name, "first");
  EXPECT_EQ(problems[0].node_index, 0);
  EXPECT_EQ(problems[0].code, ImportCode::kUnsupportedNode);
  EXPECT_EQ(problems[1].op_type, "Defenestrate");
  EXPECT_EQ(problems[1].node_index, 2);
}

TEST(BadModel, Cycle) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("Add", {"x", "b"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Relu", {"b"}, {"y"});
  EXPECT_REFUSED(model, "cycle");
}

TEST(BadModel, DuplicateNames) {
  ModelBuilder outputs;
  outputs.input("x", {4}).output("y");
  outputs.node("Relu", {"x"}, {"y"});
  outputs.node("Abs", {"x"}, {"y"});
  EXPECT_REFUSED(outputs, "unique");
  ModelBuilder inputs;
  inputs.input("x", {4}).input("x", {5}).output("y");
  inputs.node("Relu", {"x"}, {"y"});
  EXPECT_REFUSED(inputs, "unique");
}

TEST(BadModel, MissingTensorIsNamed) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node("Add", {"x", "nowhere"}, {"y"}).set_name("sum");
  EXPECT_REFUSED(model, "\"nowhere\"");
  EXPECT_REFUSED(model, "sum");
}

TEST(BadModel, WeightsWithoutData) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.weight("w", {int64_t{1} << 31, 1 << 20});
  model.node("Add", {"x", "w"}, {"y"});
  EXPECT_REFUSED(model, "\"w\"");
}

TEST(BadModel, WeightExtentsOverflowOrAreNegative) {
  for (int64_t extent : {int64_t{1} << 62, int64_t{-5}}) {
    ModelBuilder model;
    model.input("x", {4}).output("y");
    model.weight("w", {extent, 8}).set_raw_data("abcd");
    model.node("Add", {"x", "w"}, {"y"});
    EXPECT_REFUSED(model, "\"w\"");
  }
}

TEST(BadModel, NestedTooDeep) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.weight("c", {}).set_data_type(::onnx::TensorProto::BOOL);
  ::onnx::GraphProto* graph = &model.graph();
  for (int depth = 0; depth < 40; ++depth) {
    auto& node = add_node(*graph, "If", {"x"}, {fmt::format("y{}", depth)});
    auto* attribute = node.add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
  }
  EXPECT_REFUSED(model, "nested more than 24 deep");
}

TEST(BadModel, ProblemsOfBodiesAreReportedByTheBodiesAlone) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.weight("c", {}).set_data_type(::onnx::TensorProto::BOOL);
  model.graph().mutable_initializer(0)->add_int32_data(1);
  auto& node = model.node("If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(branch);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    add_node(*attribute->mutable_g(), "Relu", {"nowhere"}, {"z"});
    attribute->mutable_g()->add_output()->set_name("z");
  }
  std::vector<ImportProblem> problems;
  ASSERT_FALSE(model.import(&problems).ok());
  ASSERT_FALSE(problems.empty());
  for (const ImportProblem& problem : problems) EXPECT_NE(problem.message, "") << problem.op_type;
}

TEST(BadModel, NestedAbsurdlyDeepIsNoModel) {
  // Only the tags that open groups.
  std::string inner;
  for (int depth = 0; depth < 20000; ++depth) inner += "\x3b\x0b\x2b\x33";
  ImportRequest request;
  request.bytes = std::as_bytes(std::span(inner));
  EXPECT_FALSE(import_model(request).ok());
}

TEST(BadModel, LocalFunctionsThatRecurseOrMultiply) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  auto* function = model.model().add_functions();
  function->set_name("again");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  auto* inner = function->add_node();
  inner->set_op_type("again");
  inner->set_domain("local");
  inner->add_input("a");
  inner->add_output("b");
  model.node("again", {"x"}, {"y"}).set_domain("local");
  EXPECT_REFUSED(model, "calls itself");

  ModelBuilder bomb;
  bomb.input("x", {4}).output("y");
  for (int level = 0; level < 30; ++level) {
    auto* doubling = bomb.model().add_functions();
    doubling->set_name(fmt::format("f{}", level));
    doubling->set_domain("local");
    doubling->add_input("a");
    doubling->add_output("c");
    for (int call = 0; call < 2; ++call) {
      auto* node = doubling->add_node();
      node->set_op_type(level == 0 ? std::string("Relu") : fmt::format("f{}", level - 1));
      if (level > 0) node->set_domain("local");
      node->add_input(std::string(1, call == 0 ? 'a' : 'b'));
      node->add_output(std::string(1, call == 0 ? 'b' : 'c'));
    }
  }
  bomb.node("f29", {"x"}, {"y"}).set_domain("local");
  EXPECT_REFUSED(bomb, "too many nodes");
}

TEST(BadModel, TypesThatContradictEachOther) {
  ModelBuilder model;
  model.input("x", {4}).input("i", {4}).output("y");
  model.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::INT64);
  model.node("Add", {"x", "i"}, {"y"}).set_name("mixed");
  EXPECT_REFUSED(model, "mixed");
  ModelBuilder declared;
  declared.input("x", {4}).output("y");
  declared.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::INT32);
  declared.node("Relu", {"x"}, {"y"});
  EXPECT_REFUSED(declared, "declared");
}

TEST(BadModel, LongNamesAreCutInMessages) {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  model.node(std::string(1 << 20, 'q'), {"x"}, {"y"}).set_name(std::string(1 << 20, 'n'));
  EXPECT_LT(refusal(model).size(), 4096U);
}

TEST(BadModel, ShapesThatDoNotFitNameTheNode) {
  ModelBuilder model;
  model.input("x", {2, 3}).input("z", {4, 5}).output("y");
  model.node("MatMul", {"x", "z"}, {"y"}).set_name("product");
  EXPECT_REFUSED(model, "product");
}

TEST(BadModel, ZeroPointsThatAreNotAsManyAsScalesNameTheNode) {
  for (const char* operation : {"QuantizeLinear", "DequantizeLinear"}) {
    ModelBuilder model;
    model.input("x", {2, 4}).output("y");
    auto& scale = model.weight("scale", {4});
    for (int i = 0; i < 4; ++i) scale.add_float_data(0.5F);
    auto& zero = model.weight("zero", {});
    zero.set_data_type(::onnx::TensorProto::INT8);
    zero.add_int32_data(3);
    if (operation == std::string("DequantizeLinear"))
      model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
          ::onnx::TensorProto::INT8);
    model.node(operation, {"x", "scale", "zero"}, {"y"}).set_name("step");
    EXPECT_REFUSED(model, "a scale of shape [4] and a zero point of shape [] differ");
    EXPECT_REFUSED(model, "step");
  }
}

TEST(BadModel, BytesAreNoFloatsOfEightBitsForWantOfATypeToSaySo) {
  for (const char* operation :
       {"TRT_FP8DequantizeLinear", "TRT_MXFP8DequantizeLinear", "TRT_INT4DequantizeLinear"}) {
    ModelBuilder model;
    auto* opset = model.model().add_opset_import();
    opset->set_domain("trt");
    opset->set_version(1);
    model.output("y");
    auto& bytes = model.weight("w", {4});
    bytes.set_data_type(::onnx::TensorProto::UINT8);
    bytes.set_raw_data("abcd");
    model.weight("scale", {}).add_float_data(0.5F);
    auto& node = model.node(operation, {"w", "scale"}, {"y"});
    node.set_domain("trt");
    node.set_name("step");
    EXPECT_REFUSED(model, "not u8; give the initializer that type");
    EXPECT_REFUSED(model, "step");
  }
}

}  // namespace
}  // namespace tenon
