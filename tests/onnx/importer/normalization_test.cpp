// Normalizations that are made of several operators at import.
#include <gtest/gtest.h>

#include <cmath>

#include "models.h"
#include "ops/table.h"

namespace tenon {
namespace {

void set_integer(::onnx::NodeProto& node, const char* name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}

/// The mean of squares rounds to 1.0078, the square of the mean to 1.0156.
TEST(MeanVarianceNormalization, NearlyEqualNumbersHaveAVariance) {
  ModelBuilder model;
  model.input("x", {1, 1, 1, 3}).output("y");
  set_integer(model.node("Cast", {"x"}, {"narrow"}), "to", ::onnx::TensorProto::BFLOAT16);
  model.node("MeanVarianceNormalization", {"narrow"}, {"normalized"});
  set_integer(model.node("Cast", {"normalized"}, {"y"}), "to", ::onnx::TensorProto::FLOAT);
  const Result<ImportedModel> imported = model.import();
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const float values[] = {1, 1.0078125F, 1.0078125F};
  const auto outputs = evaluate_graph(
      *imported->graph, {{Tensor::of<float>(DataType::kFloat32, {1, 1, 1, 3}, values)}});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(std::isfinite(outputs->at(0).as_double(i))) << outputs->at(0).as_double(i);
}

}  // namespace
}  // namespace tenon
