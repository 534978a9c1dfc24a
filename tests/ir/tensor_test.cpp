#include "ir/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor one(DataType type, double value) {
  Tensor tensor(type, {});
  tensor.set_from_double(0, value);
  return tensor;
}

double stored(DataType type, double value) {
  return one(type, value).as_double(0);
}

TEST(Tensor, ConvertsEveryType) {
  EXPECT_EQ(stored(DataType::kFloat16, 1.0 / 3), 0.333251953125);
  EXPECT_EQ(stored(DataType::kFloat16, 65519), 65504);
  EXPECT_EQ(stored(DataType::kFloat16, 65520), kInfinity);
  EXPECT_EQ(stored(DataType::kFloat16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(stored(DataType::kFloat16, 0x1p-25), 0);
  EXPECT_EQ(stored(DataType::kBFloat16, 1.00390625), 1.0);
  EXPECT_EQ(stored(DataType::kBFloat16, 1.01171875), 1.015625);
  EXPECT_TRUE(std::isnan(stored(DataType::kBFloat16, NAN)));
  EXPECT_EQ(stored(DataType::kFloat8E4M3, 1000), 448);
  EXPECT_EQ(stored(DataType::kFloat8E4M3Fnuz, 1000), 240);
  EXPECT_EQ(stored(DataType::kFloat8E5M2, 1e9), 57344);
  EXPECT_EQ(stored(DataType::kFloat8E5M2Fnuz, 1e9), 57344);
  EXPECT_EQ(stored(DataType::kFloat8E8M0, 3), 4);
  EXPECT_EQ(stored(DataType::kFloat4E2M1, -5), -4);
  EXPECT_EQ(stored(DataType::kFloat4E2M1, 100), 6);
  EXPECT_EQ(stored(DataType::kInt4, -20), -8);
  EXPECT_EQ(stored(DataType::kUInt4, 20), 15);
  EXPECT_EQ(stored(DataType::kInt2, 3), 1);
  EXPECT_EQ(stored(DataType::kInt8, 300), 127);
  EXPECT_EQ(stored(DataType::kInt32, -2.9), -2);
  EXPECT_EQ(stored(DataType::kInt64, 1e30), static_cast<double>(INT64_MAX));
  EXPECT_EQ(stored(DataType::kUInt64, -1), 0);
  EXPECT_EQ(stored(DataType::kInt32, NAN), 0);
  EXPECT_EQ(stored(DataType::kBool, -0.5), 1);
  EXPECT_EQ(one(DataType::kUInt64, 1e30).as_int64(0), INT64_MAX);
}

TEST(Tensor, HalfRoundTripsEveryPattern) {
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16}) {
    Tensor all(type, {65536}), back(type, {65536});
    for (int i = 0; i < 65536; ++i) {
      all.mutable_values<uint16_t>()[i] = static_cast<uint16_t>(i);
      back.set_from_double(i, all.as_double(i));
      if (!std::isnan(all.as_double(i))) {
        ASSERT_EQ(back.values<uint16_t>()[i], i);
      } else {
        ASSERT_TRUE(std::isnan(back.as_double(i)));
      }
    }
  }
}

TEST(Tensor, IntegersWrapFromInt64) {
  Tensor tensor(DataType::kInt8, {1});
  tensor.set_from_int64(0, 200);
  EXPECT_EQ(tensor.as_int64(0), -56);
}

TEST(Tensor, HashAndEqualityCoverTypeExtentsAndBytes) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor a = Tensor::of<float>(DataType::kFloat32, {2, 3}, values);
  const Tensor same = Tensor::of<float>(DataType::kFloat32, {2, 3}, values);
  EXPECT_EQ(a, same);
  EXPECT_EQ(a.content_hash(), same.content_hash());
  EXPECT_EQ(a.content_hash().size(), 32u);
  EXPECT_NE(a, a.reshaped({3, 2}));
  EXPECT_NE(a.content_hash(), a.reshaped({3, 2}).content_hash());
  Tensor other = Tensor::of<float>(DataType::kFloat32, {2, 3}, values);
  other.set_from_double(5, 7);
  EXPECT_NE(a, other);
  EXPECT_NE(a.content_hash(), other.content_hash());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.bytes()) % 64, 0u);
}

TEST(Tensor, LargeOnesBeginAtAHugePage) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  for (const int64_t bytes : {4 * kHugePage, 4 * kHugePage + 1}) {
    const Tensor tensor(DataType::kUInt8, {bytes});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes()) % kHugePage, 0u) << bytes;
  }
}

TEST(Tensor, AbsurdExtentsAreErrors) {
  EXPECT_FALSE(Tensor::create(DataType::kFloat32, {INT64_MAX, INT64_MAX}).ok());
  EXPECT_FALSE(Tensor::create(DataType::kFloat32, {-1}).ok());
  EXPECT_FALSE(Tensor::create(DataType::kFloat64, {int64_t{1} << 40}).ok());
  EXPECT_THROW(Tensor(DataType::kFloat64, {int64_t{1} << 61, 8}), std::bad_alloc);
  EXPECT_TRUE(Tensor::create(DataType::kFloat32, {0, INT64_MAX}).ok());
  EXPECT_TRUE(Tensor(DataType::kFloat32, {0}).defined());
}

}  // namespace
}  // namespace tenon
