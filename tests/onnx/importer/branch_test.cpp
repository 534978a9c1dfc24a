// If whose branches give results of different ranks.
#include <gtest/gtest.h>

#include "models.h"
#include "ops/table.h"

namespace tenon {
namespace {

::onnx::GraphProto& branch(::onnx::NodeProto& node, const char* name) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->add_output()->set_name("result");
  return *attribute->mutable_g();
}

void set_integers(::onnx::TensorProto& tensor, const std::vector<int64_t>& values) {
  tensor.set_data_type(::onnx::TensorProto::INT64);
  for (const int64_t value : values) tensor.add_int64_data(value);
}

/// x.squeeze(1), as TorchScript's exporter writes it where it does not know the extent, and a
/// transpose of the two axes that stay. `other` is the operator of the branch that does not
/// squeeze.
Result<ImportedModel> squeezed(const char* taken, const char* other, const char* operation) {
  ModelBuilder model;
  model.input("x", {2, -1, 3}).output("y");
  set_integers(model.weight("axis", {1}), {1});
  set_integers(model.weight("one", {1}), {1});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "axis"}, {"extent"});
  model.node("Equal", {"extent", "one"}, {"is one"});
  auto& node = model.node("If", {"is one"}, {"z"});
  add_node(branch(node, taken), operation, {"x", "axis"}, {"result"});
  add_node(branch(node, other), "Identity", {"x"}, {"result"});
  auto& transpose = model.node("Transpose", {"z"}, {"y"});
  auto* perm = transpose.add_attribute();
  perm->set_name("perm");
  perm->set_type(::onnx::AttributeProto::INTS);
  perm->add_ints(1);
  perm->add_ints(0);
  return model.import();
}

Result<std::vector<Tensor>> run(const ImportedModel& model, int64_t extent) {
  Tensor x(DataType::kFloat32, {2, extent, 3});
  for (int64_t i = 0; i < x.count(); ++i) x.set_from_double(i, static_cast<double>(i));
  const std::vector<Tensor> inputs = {x};
  return evaluate_graph(*model.graph, inputs);
}

TEST(Branch, TheOneThatSqueezesStaysBehindAnAssertion) {
  const Result<ImportedModel> model = squeezed("then_branch", "else_branch", "Squeeze");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto results = run(*model, 1);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ(results->at(0).extents(), (Extents{3, 2}));
  EXPECT_EQ(results->at(0).as_double(1), 3);
  EXPECT_FALSE(run(*model, 4).ok());
}

TEST(Branch, AConditionOfTheOtherBranchFails) {
  const Result<ImportedModel> model = squeezed("else_branch", "then_branch", "Squeeze");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_FALSE(run(*model, 1).ok()) << "the model asks for the branch of three axes";
}

TEST(Branch, OtherDifferencesOfRanksAreRefused) {
  EXPECT_FALSE(squeezed("then_branch", "else_branch", "Unsqueeze").ok());
}

}  // namespace
}  // namespace tenon
