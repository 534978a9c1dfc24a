#include "quantizer/quantize_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tenon {
namespace {

Tensor random_weights(Extents extents) {
  std::mt19937 random(3);
  std::normal_distribution<float> distribution(0, 1);
  Tensor tensor(DataType::kFloat32, std::move(extents));
  for (float& number : tensor.mutable_values<float>()) number = distribution(random);
  return tensor;
}

TEST(QuantizeWeights, EachChannelReachesTheLastByte) {
  const Tensor weights = random_weights({3, 4, 5});
  const QuantizedWeights result = quantize_weights(weights, DataType::kInt8, 1);
  ASSERT_EQ(result.scales.extents(), (Extents{4}));
  for (int64_t channel = 0; channel < 4; ++channel) {
    int64_t largest = 0;
    for (int64_t i = 0; i < weights.count(); ++i) {
      if (i / 5 % 4 != channel) continue;
      const double scale = result.scales.as_double(channel);
      largest = std::max(largest, std::abs(result.numbers.as_int64(i)));
      EXPECT_NEAR(static_cast<double>(result.numbers.as_int64(i)) * scale, weights.as_double(i),
                  scale * 0.5001);
    }
    EXPECT_EQ(largest, 127);
  }
}

TEST(QuantizeWeights, OneScaleForAll) {
  const QuantizedWeights result =
      quantize_weights(random_weights({6, 4}), DataType::kFloat8E4M3, -1);
  EXPECT_TRUE(result.scales.extents().empty());
}

/// Blocks along either axis, the last one shorter.
TEST(QuantizeWeights, BlocksOfFourBits) {
  for (const int64_t axis : {0, 1}) {
    const Tensor weights = random_weights(axis == 0 ? Extents{40, 3} : Extents{3, 40});
    const QuantizedWeights result = quantize_blocks(weights, axis, 16);
    EXPECT_EQ(result.scales.extents(), (axis == 0 ? Extents{3, 3} : Extents{3, 3}));
    double error = 0, size = 0;
    for (int64_t i = 0; i < weights.count(); ++i) {
      const int64_t along = axis == 0 ? i / 3 : i % 40, across = axis == 0 ? i % 3 : i / 40;
      const int64_t place = axis == 0 ? along / 16 * 3 + across : across * 3 + along / 16;
      const double rounded =
          static_cast<double>(result.numbers.as_int64(i)) * result.scales.as_double(place);
      EXPECT_LE(std::abs(result.numbers.as_int64(i)), 7);
      error += (rounded - weights.as_double(i)) * (rounded - weights.as_double(i));
      size += weights.as_double(i) * weights.as_double(i);
    }
    EXPECT_LT(std::sqrt(error / size), 0.12);
  }
}

}  // namespace
}  // namespace tenon
