#include "quantizer/placement.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

using enum PlacedRole;

TEST(Placement, ProductsReadBytes) {
  // 0 -> product -> 1 -> relu -> 2 -> product -> 3
  const std::vector<PlacedOp> ops = {
      {kProduct, {0}, {1}}, {kPointwise, {1}, {2}}, {kProduct, {2}, {3}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}, {2, 0}}));
}

/// x -> product -> sum(x) -> product: the residual is the bytes that the first product reads.
TEST(Placement, AResidualThatAProductReadsIsReadAsBytes) {
  const std::vector<PlacedOp> ops = {
      {kProduct, {0}, {1}}, {kSum, {1, 0}, {2}}, {kProduct, {2}, {3}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}, {1, 1}, {2, 0}}));
}

/// Of two products that meet, the later one takes the sum, and the other's result is rounded.
TEST(Placement, OfTwoProductsTheEarlierIsRounded) {
  const std::vector<PlacedOp> ops = {
      {kProduct, {0}, {1}}, {kProduct, {0}, {2}}, {kSum, {2, 1}, {3}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}, {1, 0}, {2, 1}}));
}

/// The stream of a transformer: only a normalization reads the sum.
TEST(Placement, AResidualThatOnlyOthersReadStaysReal) {
  const std::vector<PlacedOp> ops = {
      {kOther, {0}, {1}}, {kProduct, {1}, {2}}, {kSum, {2, 0}, {3}}, {kOther, {3}, {4}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{1, 0}}));
}

/// A sum that no product can take reads nothing rounded.
TEST(Placement, SumsWithoutProductsStay) {
  const std::vector<PlacedOp> ops = {
      {kProduct, {0}, {1}}, {kOther, {1}, {2}}, {kSum, {2, 0}, {3}}, {kSum, {1, 1}, {4}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}}));
}

/// The product's result has other readers: it cannot take the sum, and is real where it is read.
TEST(Placement, ASharedResultDoesNotJoin) {
  const std::vector<PlacedOp> ops = {{kProduct, {0}, {1}}, {kOther, {1}, {2}}, {kSum, {1, 0}, {3}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}}));
}

/// x -> product -> a, a * f(a) -> sum(x): the product takes the sum behind its gate.
TEST(Placement, AProductOfAValueAndItsFunctionJoins) {
  const std::vector<PlacedOp> ops = {
      {kProduct, {0}, {1}}, {kPointwise, {1}, {2}}, {kPointwise, {1, 2}, {3}}, {kSum, {0, 3}, {4}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}, {3, 0}}));
}

/// Another reader of the value needs it whole.
TEST(Placement, AGateThatIsReadElsewhereDoesNotJoin) {
  const std::vector<PlacedOp> ops = {{kProduct, {0}, {1}},
                                     {kPointwise, {1}, {2}},
                                     {kPointwise, {1, 2}, {3}},
                                     {kOther, {2}, {4}},
                                     {kSum, {0, 3}, {5}}};
  EXPECT_EQ(place_quantization(ops), (std::vector<PlacedPair>{{0, 0}}));
}

/// Split, joined again with another tensor; that one's own source is computed.
TEST(Placement, MovesConnectTensors) {
  const std::vector<PlacedOp> ops = {
      {kMove, {0}, {1, 2}}, {kProduct, {2}, {3}}, {kMove, {1, 2, 3}, {4}}, {kMove, {5}, {6}}};
  EXPECT_EQ(moved_together(ops), (std::vector<std::vector<int>>{{0, 1, 2, 3, 4}, {5, 6}}));
}

}  // namespace
}  // namespace tenon
