// Products by cuBLASLt: every configuration it proposes against the reference, and refusals.
#include <gtest/gtest.h>

#include "kernels/cuda_library/region_case.h"

namespace tenon {
TENON_DECLARE_TACTIC(gemm_cublaslt)
TENON_DECLARE_TACTIC(gemm_cublaslt_gated)
namespace {

using F = PointwiseFunction;
using namespace tactics::gemm_cublaslt;

std::unique_ptr<Op> matmul(bool transpose_a = false, bool transpose_b = false) {
  auto op = std::make_unique<MatMul>();
  op->transpose_a = transpose_a, op->transpose_b = transpose_b;
  return op;
}

/// `roundings`: how often the result is rounded to the type on its way.
void check(RegionCase& test, DataType type, bool tf32 = false, int roundings = 1) {
  test.problem().numerics.tf32 = tf32;
  check_configs(test, {supports, configs, create, true}, roundings * library_tolerance(type, tf32));
}

class GemmTypes : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(CublasLt, GemmTypes,
                         testing::Values(DataType::kFloat32, DataType::kFloat16,
                                         DataType::kBFloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(GemmTypes, WeightsBiasResidualAndActivation) {
  for (const F activation : {F::k_relu, F::k_gelu_tanh}) {
    RegionCase test(GetParam());
    Value* a = test.input("a", {2, 37, 256});
    Value* w = test.constant({256, 192}, 0.1);
    Value* bias = test.constant({192});
    Value* residual = test.input("residual", {2, 37, 192});
    Value* sum = test.step(F::k_add, test.add(matmul(), {a, w}), bias);
    test.step(activation, test.step(F::k_add, residual, sum));
    test.finish(Layout::kRowMajor);
    check(test, GetParam());
  }
}

TEST_P(GemmTypes, TransposedOperands) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      RegionCase test(GetParam());
      Value* a = test.input("a", transpose_a ? Extents{64, 48} : Extents{48, 64});
      Value* b = test.input("b", transpose_b ? Extents{80, 64} : Extents{64, 80});
      test.add(matmul(transpose_a, transpose_b), {a, b});
      test.finish(Layout::kRowMajor);
      check(test, GetParam());
    }
}

TEST_P(GemmTypes, BatchesOfHeadsInPlace) {
  // q and k of attention as they lie: [batch, length, heads, size] seen as [batch, heads, ...].
  RegionCase test(GetParam());
  Value* q = test.input("q", {2, 4, 40, 32});
  Value* k = test.input("k", {2, 4, 24, 32});
  test.step(F::k_affine, test.add(matmul(false, true), {q, k}), nullptr, 0.125, 0);
  test.finish(Layout::kRowMajor);
  test.problem().inputs[0].strides = {40 * 128, 32, 128, 1};
  test.problem().inputs[1].strides = {24 * 128, 32, 128, 1};
  check(test, GetParam());
}

TEST_P(GemmTypes, OneRowAndOneColumn) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1000}, {5, 1}, {1, 1}}) {
    RegionCase test(GetParam());
    Value* a = test.input("a", {m, 512});
    Value* w = test.constant({512, n}, 0.1);
    test.step(F::k_add, test.add(matmul(), {a, w}), test.constant({n}));
    test.finish(Layout::kRowMajor);
    check(test, GetParam());
  }
}

TEST_P(GemmTypes, OddSizes) {
  RegionCase test(GetParam());
  Value* a = test.input("a", {3, 29, 13});
  test.add(matmul(), {a, test.input("b", {3, 13, 51})});
  test.finish(Layout::kRowMajor);
  check(test, GetParam());
}

TEST_P(GemmTypes, ColumnsThatAreNoMultipleOfEight) {
  for (const bool transpose_b : {false, true}) {
    RegionCase test(GetParam());
    Value* w = test.constant(transpose_b ? Extents{131, 64} : Extents{64, 131}, 0.1);
    Value* y = test.add(matmul(false, transpose_b), {test.input("a", {9, 64}), w});
    test.step(F::k_relu, test.step(F::k_add, y, test.constant({131})));
    test.finish(Layout::kRowMajor);
    check(test, GetParam());
  }
}

TEST_P(GemmTypes, ConvolutionsOfSinglePixels) {
  for (const bool residual : {false, true}) {
    RegionCase test(GetParam());
    auto op = std::make_unique<Conv>();
    op->strides = op->dilations = {1, 1};
    op->pads_begin = op->pads_end = {0, 0};
    Value* x = test.input("x", {2, 48, 7, 9});
    Value* y =
        test.add(std::move(op), {x, test.constant({80, 48, 1, 1}, 0.2), test.constant({80})});
    if (residual) y = test.step(F::k_add, test.input("residual", {2, 80, 7, 9}), y);
    test.step(F::k_relu, y);
    test.finish(Layout::kChannelsLast);
    if (residual) test.widen(-1, {2, 160, 7, 9}, 80);
    check(test, GetParam());
  }
}

TEST_P(GemmTypes, StepsBehindTheLibrarysEpilogue) {
  for (const bool constant : {false, true}) {
    RegionCase test(GetParam());
    Value* w = test.constant({64, constant ? 131 : 96}, 0.2);
    const int64_t columns = constant ? 131 : 96;
    Value* y = test.add(matmul(), {test.input("a", {2, 9, 64}), w});
    y = test.step(F::k_gelu_erf, test.step(F::k_add, y, test.constant({columns})));
    y = test.step(F::k_mul, test.input("gate", {2, 9, columns}), y);
    if (constant) y = test.step(F::k_add, y, test.constant({columns}));
    test.finish(Layout::kRowMajor);
    check(test, GetParam(), false, 2);
  }
}

TEST_P(GemmTypes, GatesBehindTheProduct) {
  namespace gated = tactics::gemm_cublaslt_gated;
  for (const auto& [rows, columns, biased] : {std::tuple{37, 192, true}, {1, 50, false}}) {
    RegionCase test(GetParam());
    Value* a = test.input("a", {2, rows, 64});
    Value* w = test.constant({64, columns}, 0.2);
    Value* bias = test.constant({columns});
    Value* y = test.add(matmul(), {a, w});
    if (biased) y = test.step(F::k_add, y, bias);
    auto gate = std::make_unique<GatedUnit>();
    gate->alpha = 1;
    test.add(std::move(gate), {y});
    test.finish(Layout::kRowMajor);
    // Both factors are rounded on their way.
    check_configs(test, {gated::supports, gated::configs, gated::create, true},
                  3 * library_tolerance(GetParam()));
  }
}

TEST_P(GemmTypes, PartsOfWiderTensors) {
  RegionCase test(GetParam());
  Value* a = test.input("a", {33, 64});
  test.add(matmul(), {a, test.constant({64, 96})});
  test.finish(Layout::kRowMajor);
  test.widen(0, {33, 192}, 64);
  test.widen(-1, {33, 200}, 3);
  check(test, GetParam());
}

TEST(CublasLt, RoundsToTf32WhereAllowed) {
  RegionCase test(DataType::kFloat32);
  test.add(matmul(), {test.input("a", {96, 512}), test.constant({512, 128})});
  test.finish(Layout::kRowMajor);
  check(test, DataType::kFloat32, true);
}

TEST(CublasLt, RepeatsBitByBit) {
  Device* device = gpu_or_skip();
  if (device == nullptr) GTEST_SKIP() << "no GPU";
  RegionCase test(DataType::kFloat16);
  test.add(matmul(), {test.input("a", {8, 4096}), test.constant({4096, 256}, 0.05)});
  test.finish(Layout::kRowMajor);
  test.problem().device = device;
  for (const std::string& config : configs(test.problem())) {
    const auto kernel = create(test.problem(), config);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const auto first = test.run(**kernel, *device);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(*test.run(**kernel, *device), *first) << config;
  }
}

TEST(CublasLtRefuses, OtherTypesAndScatteredElements) {
  RegionCase test(DataType::kInt32);
  test.add(matmul(), {test.input("a", {8, 8}), test.input("b", {8, 8})});
  test.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(test.problem())), "a product of i32");
  RegionCase apart(DataType::kFloat32);
  apart.add(matmul(), {apart.input("a", {8, 8}), apart.input("b", {8, 8})});
  apart.finish(Layout::kRowMajor);
  apart.problem().inputs[0].strides = {64, 2};
  EXPECT_EQ(refusal(supports(apart.problem())), "an operand whose elements lie apart");
}

}  // namespace
}  // namespace tenon
