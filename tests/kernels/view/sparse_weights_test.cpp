#include "kernels/sparse_weights.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

/// Numbers of [4, 8], all 1 but where `is_zero`.
template <class Function> Tensor weights(DataType type, const Function& is_zero) {
  Tensor tensor(type, {4, 8});
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, is_zero(i / 8, i % 8) ? 0 : 1);
  return tensor;
}

class SparseWeights : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Types, SparseWeights,
                         testing::Values(DataType::kFloat32, DataType::kFloat16,
                                         DataType::kBFloat16, DataType::kInt8),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(SparseWeights, HaveAPatternAlongAnAxis) {
  const auto odd = [](int64_t row, int64_t column) { return (row + column / 2) % 2 == 1; };
  const Tensor both = weights(GetParam(), odd);
  EXPECT_TRUE(has_sparse_pattern(both, 0));
  EXPECT_TRUE(has_sparse_pattern(both, 1));
  const Tensor rows = weights(GetParam(), [](int64_t row, int64_t) { return row < 2; });
  EXPECT_TRUE(has_sparse_pattern(rows, 0));
  EXPECT_FALSE(has_sparse_pattern(rows, 1));
  const Tensor columns = weights(GetParam(), [](int64_t, int64_t column) { return column >= 2; });
  EXPECT_FALSE(has_sparse_pattern(columns, 0));
  // Columns 0 and 1 of the first four.
  EXPECT_TRUE(has_sparse_pattern(columns, 1));
}

TEST_P(SparseWeights, ThreeOfFourAreTooMany) {
  const Tensor last = weights(GetParam(), [](int64_t row, int64_t column) {
    return row == 3 ? column != 4 && column != 5 && column != 7 : column % 4 > 1;
  });
  EXPECT_FALSE(has_sparse_pattern(last, 1));
}

TEST(SparseWeights, GroupsAreOfFour) {
  Tensor tensor(DataType::kFloat16, {6, 2});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_double(i, 0);
  EXPECT_FALSE(has_sparse_pattern(tensor, 0));
  EXPECT_FALSE(has_sparse_pattern(tensor, 2));
  EXPECT_FALSE(has_sparse_pattern(Tensor(), 0));
}

TEST(SparseWeights, NegativeZerosAreZeros) {
  Tensor tensor(DataType::kFloat16, {1, 4});
  for (int64_t i = 0; i < 4; ++i) tensor.set_from_double(i, i < 2 ? -0.0 : -1.0);
  EXPECT_TRUE(has_sparse_pattern(tensor, 1));
}

TEST(SparseWeights, WordsTellTheAxis) {
  EXPECT_EQ(sparse_word(weights(DataType::kFloat16, [](int64_t, int64_t) { return false; })), "");
  EXPECT_EQ(sparse_word(weights(DataType::kFloat16, [](int64_t row, int64_t) { return row > 1; })),
            "2:4");
  EXPECT_EQ(sparse_word(weights(DataType::kFloat16,
                                [](int64_t, int64_t column) { return column % 2 == 0; })),
            "2:4 rows");
  EXPECT_EQ(sparse_word(weights(DataType::kFloat16, [](int64_t, int64_t) { return true; })),
            "2:4 both");
  EXPECT_EQ(sparse_word(weights(DataType::kFloat32, [](int64_t, int64_t) { return true; })), "");
}

TEST(SparseWeights, TacticsAreKnownByTheirNames) {
  EXPECT_TRUE(is_sparse("cuda.gemm.sparse{id=1}"));
  EXPECT_TRUE(is_sparse("cuda.conv.sparse_hopper{m=64,n=64}"));
  EXPECT_FALSE(is_sparse("cuda.gemm.lt{id=1}"));
}

}  // namespace
}  // namespace tenon
