// Outputs that lie beside the expected ones: differences that quantization explains, and others.
#include "check/compare.h"

#include <gtest/gtest.h>

#include <memory>

#include "graph_text.h"

namespace tenon {
namespace {

constexpr double kStep = 0.5, kExpected = 10;
/// A step is far beyond it, where it is not the norm's.
constexpr Tolerance kTolerance{.relative = 1e-4, .spread = 1e-4, .norm = 1e-2};

std::unique_ptr<Graph> quantized_at_the_end() {
  return inferred(R"(graph "" (%0 "x": f32[10,20]) {
  %1 = constant() {value = f32[]{0.5}} : f32[]
  %2 = quantize "q"(%0, %1) : i8[10,20]
  %3 = dequantize "dq"(%2, %1) : f32[10,20]
  %4 = constant() {value = i64[1]{-1}} : i64[1]
  %5 "out" = reshape "flat"(%3, %4) : f32[200]
  return %5
})");
}

std::unique_ptr<Graph> sum() {
  return inferred(R"(graph "" (%0 "x": f32[200]) {
  %1 "out" = add "add"(%0, %0) : f32[200]
  return %1
})");
}

/// Of 200 equal numbers so many are off by `distance`.
std::string compared(const Graph& graph, int64_t count, double distance) {
  Tensor expected(DataType::kFloat32, {200}), actual(DataType::kFloat32, {200});
  for (int64_t i = 0; i < 200; ++i) {
    expected.set_from_double(i, kExpected);
    actual.set_from_double(i, kExpected + (i < count ? distance : 0));
  }
  return compare_outputs(graph, std::vector{actual}, std::vector{expected}, {}, kTolerance);
}

TEST(CompareOutputs, FewMayBeNeighboursWhereTheOutputIsDequantized) {
  const auto graph = quantized_at_the_end();
  EXPECT_EQ(compared(*graph, 1, kStep), "");
  EXPECT_EQ(compared(*graph, 4, -kStep), "");
  EXPECT_NE(compared(*graph, 1, 2 * kStep), "");
  EXPECT_NE(compared(*graph, 5, kStep), "");
}

/// As results in f16 before they become bytes.
TEST(CompareResults, AFewBytesMayBeOneStepOff) {
  const auto agrees = [](int64_t count, double steps) {
    Tensor expected(DataType::kInt8, {200}), actual(DataType::kInt8, {200});
    for (int64_t i = 0; i < 200; ++i) {
      expected.set_from_double(i, 30);
      actual.set_from_double(i, i < count ? 30 + steps : 30);
    }
    return compare_results(actual, expected, nullptr, kTolerance, Steadiness::kJumps).agrees();
  };
  EXPECT_TRUE(agrees(12, -1));
  EXPECT_FALSE(agrees(13, -1)) << "more than an error of f16 moves";
  EXPECT_FALSE(agrees(1, 2));
}

TEST(CompareOutputs, NoneMayElsewhere) {
  const auto graph = sum();
  EXPECT_EQ(compared(*graph, 200, 1e-4), "");
  EXPECT_NE(compared(*graph, 1, kStep), "");
}

TEST(CompareOutputs, SteadinessIsThatOfTheUnsteadiestOperator) {
  EXPECT_EQ(steadiness_of(*sum()), Steadiness::kSteady);
  EXPECT_EQ(steadiness_of(*quantized_at_the_end()), Steadiness::kJumps);
  EXPECT_EQ(steadiness_of(*inferred(R"(graph "" (%0 "x": i32[4]) {
  %1 "out" = add "add"(%0, %0) : i32[4]
  return %1
})")),
            Steadiness::kExact);
}

TEST(CompareOutputs, OtherExtentsAreFarOff) {
  const Tensor four(DataType::kFloat32, {4}), two(DataType::kFloat32, {2, 2});
  EXPECT_EQ(distance(four, two), 1);
}

}  // namespace
}  // namespace tenon
