// Products with epilogues by cuDNN: every configuration proposed against the reference, and
// refusals.
#include <gtest/gtest.h>

#include "kernels/cuda_library/region_case.h"

namespace tenon {
TENON_DECLARE_TACTIC(gemm_cudnn)
namespace {

using F = PointwiseFunction;
using namespace tactics::gemm_cudnn;

void check(RegionCase& test, DataType type) {
  test.problem().numerics.tf32 = true;
  check_configs(test, {supports, configs, create}, library_tolerance(type, true));
}

class FusedGemmTypes : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Cudnn, FusedGemmTypes,
                         testing::Values(DataType::kFloat32, DataType::kFloat16,
                                         DataType::kBFloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(FusedGemmTypes, BiasResidualAndActivation) {
  for (const F activation : {F::k_gelu_erf, F::k_swish, F::k_hard_swish})
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(std::string(pointwise_info(activation).name));
      RegionCase test(GetParam());
      auto op = std::make_unique<MatMul>();
      op->transpose_b = transpose_b;
      Value* w = test.constant(transpose_b ? Extents{96, 64} : Extents{64, 96}, 0.2);
      Value* y = test.add(std::move(op), {test.input("a", {2, 24, 64}), w});
      y = test.step(F::k_add, y, test.constant({96}));
      y = test.step(F::k_add, test.input("residual", {2, 24, 96}), y);
      test.step(activation, y, nullptr, 1, 0);
      test.finish(Layout::kRowMajor);
      check(test, GetParam());
    }
}

TEST_P(FusedGemmTypes, BatchesAndSingleRows) {
  RegionCase batch(GetParam());
  Value* y = batch.add(std::make_unique<MatMul>(),
                       {batch.input("a", {2, 3, 16, 32}), batch.input("b", {2, 3, 32, 40})});
  batch.step(F::k_sigmoid, y);
  batch.finish(Layout::kRowMajor);
  check(batch, GetParam());
  RegionCase row(GetParam());
  Value* z = row.add(std::make_unique<MatMul>(), {row.input("a", {1, 64}), row.constant({64, 40})});
  row.step(F::k_sigmoid, row.step(F::k_add, z, row.constant({40})));
  row.finish(Layout::kRowMajor);
  check(row, GetParam());
}

TEST_P(FusedGemmTypes, BareProducts) {
  RegionCase test(GetParam());
  test.add(std::make_unique<MatMul>(), {test.input("a", {40, 64}), test.constant({64, 96})});
  test.finish(Layout::kRowMajor);
  check(test, GetParam());
}

TEST_P(FusedGemmTypes, RowsOfAWiderTensor) {
  RegionCase test(GetParam());
  Value* y = test.add(std::make_unique<MatMul>(),
                      {test.input("a", {2, 24, 64}), test.constant({64, 96}, 0.2)});
  test.step(F::k_gelu_erf, y);
  test.finish(Layout::kRowMajor);
  test.widen(0, {2, 24, 128}, 64);
  test.widen(-1, {2, 24, 192}, 96);
  check(test, GetParam());
}

TEST(CudnnFusedGemmRefuses, UnalignedRowsAndFullF32) {
  RegionCase odd(DataType::kFloat16);
  odd.step(F::k_relu, odd.add(std::make_unique<MatMul>(),
                              {odd.input("a", {8, 13}), odd.input("b", {13, 16})}));
  odd.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(odd.problem())), "rows that start at no multiple of 16 bytes");
  RegionCase full(DataType::kFloat32);
  full.step(F::k_relu, full.add(std::make_unique<MatMul>(),
                                {full.input("a", {8, 16}), full.input("b", {16, 16})}));
  full.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(full.problem())),
            "cuDNN's products round f32 to tf32, which is not allowed");
}

}  // namespace
}  // namespace tenon
