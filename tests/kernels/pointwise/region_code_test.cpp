// Generated code in an application that has set a locale of its own.
#include "kernels/pointwise/region_code.h"

#include <gtest/gtest.h>

#include <limits>

#include "comma_locale.h"

namespace tenon {
namespace {

TEST(Code, HasTheSameNumbersInEveryLocale) {
  PointwiseProgram program;
  program.inputs = 1;
  program.outputs = {1};
  program.instructions.push_back({.function = PointwiseFunction::k_affine,
                                  .to = DataType::kFloat32,
                                  .alpha = 1.5,
                                  .beta = -0.3125,
                                  .sources = {0, -1, -1}});
  const auto code = [&program] {
    return make_loop_code(program, {{64}, {{1}, {1}}}, {CodeOperand{}, CodeOperand{}}, 4096);
  };
  const auto plain = code();
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_NE(plain->text.find("(0x1.8p+0)"), std::string::npos) << plain->text;
  EXPECT_NE(plain->text.find("(-0x1.4p-2)"), std::string::npos) << plain->text;

  const CommaLocale comma;
  if (!comma.complete()) GTEST_SKIP() << "no locale with a decimal comma can be made here";
  EXPECT_EQ(code()->text, plain->text);
}

TEST(Code, NamesNumbersThatAreNotFinite) {
  PointwiseProgram program;
  program.inputs = 1;
  program.outputs = {1};
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  program.instructions.push_back({.function = PointwiseFunction::k_affine,
                                  .to = DataType::kFloat32,
                                  .alpha = -kInfinite,
                                  .beta = std::numeric_limits<double>::quiet_NaN(),
                                  .sources = {0, -1, -1}});
  const auto code =
      make_loop_code(program, {{64}, {{1}, {1}}}, {CodeOperand{}, CodeOperand{}}, 4096);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_NE(code->text.find("T((-kInfinity))"), std::string::npos) << code->text;
  EXPECT_NE(code->text.find("T(kNan)"), std::string::npos) << code->text;
}

TEST(Code, LoadsSeveralTimesAheadWhereThereIsMoreThanTheDeviceHolds) {
  PointwiseProgram program;
  program.inputs = 1;
  program.outputs = {0};
  const auto blocks = [&program](int64_t threads) {
    // 2^20 elements in fours, 256 threads a block.
    const auto code =
        make_loop_code(program, {{1 << 20}, {{1}, {1}}}, {CodeOperand{}, CodeOperand{}}, threads);
    return code.ok() ? code->blocks : -1;
  };
  EXPECT_EQ(blocks(1 << 16), 512);
  EXPECT_EQ(blocks((1 << 16) + 1), 1024);
}

TEST(Code, LoadsOperandsThatAreRepeatedOnce) {
  PointwiseProgram program;
  program.inputs = 2;
  program.outputs = {2};
  program.instructions.push_back(
      {.function = PointwiseFunction::k_add, .to = DataType::kFloat32, .sources = {0, 1, -1}});
  const auto code = make_loop_code(program, {{64}, {{1}, {0}, {1}}},
                                   {CodeOperand{}, CodeOperand{}, CodeOperand{}}, 4096);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_NE(code->text.find("v0_0 = load_pack<4>"), std::string::npos) << code->text;
  EXPECT_NE(code->text.find("v0_1 = load_pack<1>"), std::string::npos) << code->text;
}

}  // namespace
}  // namespace tenon
