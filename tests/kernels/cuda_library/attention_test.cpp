// Attention by cuDNN against the reference, and refusals.
#include <gtest/gtest.h>

#include "kernels/cuda_library/region_case.h"

namespace tenon {
TENON_DECLARE_TACTIC(attention_cudnn)
namespace {

using namespace tactics::attention_cudnn;

struct Sizes {
  int64_t batch = 2, heads = 4, kv_heads = 4, queries = 64, keys = 64, size = 64;
};

void check(RegionCase& test, DataType type) {
  check_configs(test, {supports, configs, create}, library_tolerance(type));
}

/// Lower triangle: true where a key is kept.
Tensor triangle(Extents extents) {
  const int64_t columns = extents.back(), rows = extents[extents.size() - 2];
  Tensor mask(DataType::kBool, std::move(extents));
  for (int64_t i = 0; i < mask.count(); ++i)
    mask.set_from_int64(i, i % columns <= i / columns % rows ? 1 : 0);
  return mask;
}

Value* query(RegionCase& test, const Sizes& s) {
  return test.input("q", {s.batch, s.heads, s.queries, s.size}, 2);
}
Value* key(RegionCase& test, const Sizes& s) {
  return test.input("k", {s.batch, s.kv_heads, s.keys, s.size}, 2);
}
Value* value(RegionCase& test, const Sizes& s) {
  return test.input("v", {s.batch, s.kv_heads, s.keys, s.size}, 2);
}

class AttentionTypes : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Cudnn, AttentionTypes,
                         testing::Values(DataType::kFloat16, DataType::kBFloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(AttentionTypes, Lengths) {
  for (const Sizes& s : {Sizes{1, 12, 12, 128, 128, 64}, Sizes{2, 3, 3, 197, 197, 64},
                         Sizes{1, 2, 2, 1, 77, 128}, Sizes{1, 2, 2, 40, 24, 32}}) {
    SCOPED_TRACE(s.queries);
    RegionCase test(GetParam());
    test.add(std::make_unique<Attention>(), {query(test, s), key(test, s), value(test, s)});
    test.finish(Layout::kRowMajor);
    check(test, GetParam());
  }
}

TEST_P(AttentionTypes, CausalMasks) {
  for (const CausalMask mask : {CausalMask::kUpperLeft, CausalMask::kLowerRight})
    for (const Sizes& s : {Sizes{1, 2, 2, 64, 64, 64}, Sizes{2, 2, 2, 50, 130, 64}}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mask)) + " " + std::to_string(s.queries));
      RegionCase test(GetParam());
      auto op = std::make_unique<Attention>();
      op->causal = mask;
      test.add(std::move(op), {query(test, s), key(test, s), value(test, s)});
      test.finish(Layout::kRowMajor);
      check(test, GetParam());
    }
}

TEST_P(AttentionTypes, AdditiveMasks) {
  const Sizes s{2, 4, 4, 48, 64, 64};
  for (const Extents& extents : {Extents{2, 4, 48, 64}, Extents{2, 1, 48, 64}, Extents{2, 1, 1, 64},
                                 Extents{48, 64}, Extents{64}}) {
    SCOPED_TRACE(testing::PrintToString(extents));
    RegionCase test(GetParam());
    Value* mask = test.input("mask", extents, 3);
    test.add(std::make_unique<Attention>(), {query(test, s), key(test, s), value(test, s), mask});
    test.finish(Layout::kRowMajor);
    check(test, GetParam());
  }
}

TEST_P(AttentionTypes, BoolMasks) {
  const Sizes s{2, 4, 4, 64, 64, 64};
  for (const bool constant : {true, false})
    for (const Extents& extents : {Extents{1, 1, 64, 64}, Extents{2, 1, 64, 64}}) {
      RegionCase test(GetParam());
      const Tensor kept = triangle(extents);
      Value* mask = constant ? test.constant(kept) : test.input("mask", kept);
      test.add(std::make_unique<Attention>(), {query(test, s), key(test, s), value(test, s), mask});
      test.finish(Layout::kRowMajor);
      check(test, GetParam());
    }
}

TEST_P(AttentionTypes, RowsWithoutAnyKeyAreZero) {
  const Sizes s{1, 2, 2, 64, 64, 64};
  RegionCase test(GetParam());
  Tensor kept = triangle({64, 64});
  for (int64_t column = 0; column < 64; ++column) kept.set_from_int64(5 * 64 + column, 0);
  auto op = std::make_unique<Attention>();
  op->masked_rows_zero = true;
  test.add(std::move(op), {query(test, s), key(test, s), value(test, s), test.input("mask", kept)});
  test.finish(Layout::kRowMajor);
  check(test, GetParam());
}

TEST_P(AttentionTypes, KeysSharedByHeads) {
  const Sizes s{2, 8, 2, 33, 65, 64};
  RegionCase test(GetParam());
  test.add(std::make_unique<Attention>(), {query(test, s), key(test, s), value(test, s)});
  test.finish(Layout::kRowMajor);
  check(test, GetParam());
}

TEST_P(AttentionTypes, HeadsInsideRowsOfOneProduct) {
  // q, k and v side by side in [batch, length, 3 * heads * size], the result in [B, S, heads, H].
  RegionCase test(GetParam());
  auto op = std::make_unique<Attention>();
  op->q_bsnh = op->k_bsnh = op->v_bsnh = op->out_bsnh = true;
  std::vector<Value*> operands;
  for (const char* name : {"q", "k", "v"}) operands.push_back(test.input(name, {2, 40, 4, 64}, 2));
  test.add(std::move(op), operands);
  test.finish(Layout::kRowMajor);
  for (int i = 0; i < 3; ++i) test.widen(i, {2, 40, 12, 64}, i * 4 * 64);
  check(test, GetParam());
}

TEST(CudnnAttentionRefuses, TypesSizesAndCaps) {
  const Sizes s;
  RegionCase full(DataType::kFloat32);
  full.add(std::make_unique<Attention>(), {query(full, s), key(full, s), value(full, s)});
  full.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(full.problem())), "attention of f32");
  RegionCase odd(DataType::kFloat16);
  const Sizes narrow{1, 1, 1, 8, 8, 12};
  odd.add(std::make_unique<Attention>(),
          {query(odd, narrow), key(odd, narrow), value(odd, narrow)});
  odd.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(odd.problem())),
            "heads or rows that start at no multiple of 16 bytes");
  RegionCase capped(DataType::kFloat16);
  auto op = std::make_unique<Attention>();
  op->softcap = 30;
  capped.add(std::move(op), {query(capped, s), key(capped, s), value(capped, s)});
  capped.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(capped.problem())), "capped scores");
}

}  // namespace
}  // namespace tenon
