// Products with sparse weights by cuSPARSELt: every algorithm offered against the reference, and
// refusals.
#include <gtest/gtest.h>

#include "kernels/cuda_library/region_case.h"

namespace tenon {
TENON_DECLARE_TACTIC(gemm_cusparselt)
namespace {

using F = PointwiseFunction;
using namespace tactics::gemm_cusparselt;

/// Two of each four along the axis are 0, others from group to group.
Tensor sparse_weights(DataType type, const Extents& extents, size_t axis) {
  Tensor tensor(type, extents);
  int64_t inner = 1;
  for (size_t i = axis + 1; i < extents.size(); ++i) inner *= extents[i];
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t at = i / inner % extents[axis], group = i / (4 * inner) + i % inner;
    const bool filled = (at + group) % 4 == 0 || (at + group * 3) % 4 == 1;
    tensor.set_from_double(i, filled ? static_cast<double>(i * 37 % 101 - 50) / 256 : 0);
  }
  return tensor;
}

std::unique_ptr<Op> matmul(bool transpose_b) {
  auto op = std::make_unique<MatMul>();
  op->transpose_b = transpose_b;
  return op;
}

void check(RegionCase& test, DataType type, int roundings = 1) {
  if (const Support support = supports(test.problem()); !support) GTEST_SKIP() << support.reason;
  check_configs(test, {supports, configs, create, false}, roundings * library_tolerance(type));
}

class SparseTypes : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(CusparseLt, SparseTypes,
                         testing::Values(DataType::kFloat16, DataType::kBFloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(SparseTypes, WeightsEitherWay) {
  for (const bool transposed : {false, true}) {
    RegionCase test(GetParam());
    Value* a = test.input("a", {2, 40, 256});
    Value* w = test.constant(transposed ? sparse_weights(GetParam(), {192, 256}, 1)
                                        : sparse_weights(GetParam(), {256, 192}, 0));
    test.add(matmul(transposed), {a, w});
    test.finish(Layout::kRowMajor);
    check(test, GetParam());
  }
}

TEST_P(SparseTypes, BiasResidualAndActivation) {
  for (const F activation : {F::k_relu, F::k_gelu_tanh, F::k_gelu_erf}) {
    RegionCase test(GetParam());
    Value* a = test.input("a", {2, 40, 256});
    Value* w = test.constant(sparse_weights(GetParam(), {256, 192}, 0));
    Value* bias = test.constant({192});
    Value* residual = test.input("residual", {2, 40, 192});
    Value* sum = test.step(F::k_add, test.add(matmul(false), {a, w}), bias);
    test.step(activation, test.step(F::k_add, residual, sum));
    test.finish(Layout::kRowMajor);
    check(test, GetParam(), 2);
  }
}

TEST_P(SparseTypes, ConvolutionsOfSinglePixels) {
  RegionCase test(GetParam());
  Value* x = test.input("x", {2, 128, 12, 10});
  Value* w = test.constant(sparse_weights(GetParam(), {64, 128, 1, 1}, 1));
  Value* bias = test.constant({64});
  auto conv = std::make_unique<Conv>();
  conv->strides = conv->dilations = {1, 1};
  conv->pads_begin = conv->pads_end = {0, 0};
  test.step(F::k_relu, test.add(std::move(conv), {x, w, bias}));
  test.finish(Layout::kChannelsLast, {w});
  check(test, GetParam());
}

TEST(SparseProducts, DenseWeightsAreRefused) {
  RegionCase test(DataType::kFloat16);
  Value* a = test.input("a", {64, 256});
  Value* w = test.constant({256, 192}, 0.1);
  test.add(matmul(false), {a, w});
  test.finish(Layout::kRowMajor);
  const Support support = supports(test.problem());
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason.find("more than two of four"), std::string::npos) << support.reason;
}

}  // namespace
}  // namespace tenon
