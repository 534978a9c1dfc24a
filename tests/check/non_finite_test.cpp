// The first node that makes a NaN or an infinity is named, in the precision where it does.
#include "check/non_finite.h"

#include <gtest/gtest.h>

#include "graph_text.h"

namespace tenon {
namespace {

constexpr const char* kProduct = R"(graph "" (%0 "x": f32[2]) {
  %1 = mul "square1"(%0, %0) : f32[2]
  %2 = mul "square2"(%1, %1) : f32[2]
  %3 = relu "relu1"(%2) : f32[2]
  return %3
})";

TEST(NonFinite, OverflowsInHalfPrecisionOnly) {
  const auto graph = inferred(kProduct);
  const std::vector<float> x = {1, 20};
  const std::vector<Tensor> inputs = {Tensor::of<float>(DataType::kFloat32, {2}, x)};
  const auto single = find_non_finite(*graph, inputs, std::nullopt);
  ASSERT_TRUE(single.ok()) << single.error().message;
  EXPECT_FALSE(single->has_value());
  const auto half = find_non_finite(*graph, inputs, DataType::kFloat16);
  ASSERT_TRUE(half.ok()) << half.error().message;
  ASSERT_TRUE(half->has_value());
  EXPECT_EQ((*half)->node, "square2");
  EXPECT_EQ((*half)->description,
            "node 'square2' (mul) makes 1 infinity in f16[2]; inputs: output 0 of 'square1' "
            "f16[2] from 1 to 400, output 0 of 'square1' f16[2] from 1 to 400");
  const auto brain = find_non_finite(*graph, inputs, DataType::kBFloat16);
  ASSERT_TRUE(brain.ok());
  EXPECT_FALSE(brain->has_value());
}

TEST(NonFinite, MasksDoNotCount) {
  const auto graph = inferred(R"(graph "" (%0 "x": f32[2]) {
    %1 = constant() {value = f32[2]{0,-inf}} : f32[2]
    %2 = add "mask"(%0, %1) : f32[2]
    %3 = sqrt "root"(%0) : f32[2]
    return %2, %3
  })");
  const std::vector<float> x = {-1, 1};
  const auto found =
      find_non_finite(*graph, {Tensor::of<float>(DataType::kFloat32, {2}, x)}, std::nullopt);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->node, "root");
}

}  // namespace
}  // namespace tenon
