// Mixtures of experts read the weights of chosen experts alone where tokens are few.
#include <gtest/gtest.h>

#include <algorithm>

#include "models.h"
#include "ops/math.h"

namespace tenon {
namespace {

constexpr int64_t kExperts = 16;

/// The largest number of matrices in a product of a mixture of 16 experts, 2 for each token.
int64_t matrices(int64_t tokens) {
  ModelBuilder model;
  auto* opset = model.model().add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  model.input("x", {tokens, 4}).input("router", {tokens, kExperts}).output("y");
  model.input("w1", {kExperts, 6, 4}).input("w2", {kExperts, 4, 6});
  ::onnx::NodeProto& node = model.node("MoE", {"x", "router", "w1", "", "w2"}, {"y"});
  node.set_domain("com.microsoft");
  auto* k = node.add_attribute();
  k->set_name("k");
  k->set_type(::onnx::AttributeProto::INT);
  k->set_i(2);
  const Result<ImportedModel> imported = model.import();
  EXPECT_TRUE(imported.ok()) << imported.error().message;
  if (!imported.ok()) return 0;
  int64_t most = 0;
  for (const auto& each : imported->graph->nodes())
    if (each->is<MatMul>()) most = std::max(most, each->output()->type.shape[0].constant());
  return most;
}

TEST(Experts, ChosenOnesAreReadForFewTokens) {
  EXPECT_EQ(matrices(1), 2);
  EXPECT_EQ(matrices(2), 4);
  EXPECT_EQ(matrices(3), kExperts) << "four times as much as 6 are more than all";
}

}  // namespace
}  // namespace tenon
