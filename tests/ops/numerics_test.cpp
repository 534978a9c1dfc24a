#include "ops/numerics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tenon {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> numbers(size_t count = 10000) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

/// As a type with so many bits of mantissa stores them.
std::vector<double> rounded(std::vector<double> values, int bits) {
  for (double& value : values) {
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    value = std::ldexp(std::round(std::ldexp(mantissa, bits)), exponent - bits);
  }
  return values;
}

TEST(Numerics, RoundingToTheTypeIsWithinItsRow) {
  const std::vector<double> exact = numbers();
  const struct {
    DataType type;
    int bits, too_few;
  } types[] = {
      {DataType::kFloat32, 24, 14}, {DataType::kFloat16, 11, 8}, {DataType::kBFloat16, 8, 4}};
  for (const auto& [type, bits, too_few] : types) {
    const Tolerance row = tolerance(Computation::kKernel, type);
    EXPECT_TRUE(compare_numbers(rounded(exact, bits), exact, {}, row).agrees()) << name_of(type);
    EXPECT_FALSE(compare_numbers(rounded(exact, too_few), exact, {}, row).agrees())
        << name_of(type);
  }
}

TEST(Numerics, OneWrongElementInTenThousandIsFoundAndNamed) {
  const std::vector<double> exact = numbers();
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
    std::vector<double> actual = exact;
    actual[1234] += 0.2;
    const Deviation found =
        compare_numbers(actual, exact, {}, tolerance(Computation::kKernel, type));
    EXPECT_FALSE(found.agrees()) << name_of(type);
    EXPECT_EQ(found.element, 1234);
    EXPECT_NE(found.describe().find("element 1234 is"), std::string::npos) << found.describe();
  }
}

/// As a share of what the row allows.
TEST(Numerics, TheExcessOfOneElement) {
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat32);
  const double allowed = 8 * (row.spread + row.relative);
  const std::vector<double> expected = {8};
  for (const double share : {0.9, 1.1}) {
    const std::vector<double> actual = {8 + share * allowed};
    EXPECT_NEAR(compare_numbers(actual, expected, {}, row).excess, share, 1e-3);
  }
}

TEST(Numerics, ASmallErrorOfAllElementsIsFound) {
  const std::vector<double> exact = numbers();
  std::vector<double> actual = exact;
  for (double& value : actual) value *= 1.01;
  EXPECT_FALSE(
      compare_numbers(actual, exact, {}, tolerance(Computation::kKernel, DataType::kFloat16))
          .agrees());
}

TEST(Numerics, WhatRoundingDoesIsAllowed) {
  const std::vector<double> exact = numbers();
  std::mt19937 random(8);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<double> one = exact, other = exact;
  for (double& value : one) value += noise(random);
  for (double& value : other) value += noise(random);
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat16);
  EXPECT_FALSE(compare_numbers(one, exact, {}, row).agrees());
  EXPECT_TRUE(compare_numbers(one, exact, other, row).agrees());
  one[17] += 3;
  EXPECT_FALSE(compare_numbers(one, exact, other, row).agrees());
}

TEST(Numerics, AFewJumpsAreAllowedWhereThereAreThresholds) {
  std::vector<double> exact = numbers(), one = exact, other = exact;
  one[5] += 1, one[500] -= 1, other[77] += 1;
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat32);
  EXPECT_FALSE(compare_numbers(one, exact, other, row, false).excess <= 1);
  EXPECT_TRUE(compare_numbers(one, exact, other, row, true).excess <= 1);
  one[9] += 5;
  EXPECT_FALSE(compare_numbers(one, exact, other, row, true).excess <= 1);
  one = exact;
  for (size_t i = 0; i < 1000; ++i) one[i] += 1;
  EXPECT_FALSE(compare_numbers(one, exact, other, row, true).excess <= 1);
}

/// As far as one of the rounded values jumps, wherever the value lies.
TEST(Numerics, JumpsOfLargeValuesAreAllowed) {
  std::vector<double> exact = numbers();
  for (double& value : exact) value += 50;
  std::vector<double> one = exact, other = exact;
  one[5] += 20, other[77] += 20;
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat32);
  EXPECT_TRUE(compare_numbers(one, exact, other, row, true).excess <= 1);
}

TEST(Numerics, NotANumberIsNoJump) {
  const std::vector<double> exact = numbers();
  std::vector<double> one = exact, other = exact;
  one[5] = kNaN, other[77] += 1;
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat32);
  for (const bool jumps : {false, true}) {
    const Deviation found = compare_numbers(one, exact, other, row, jumps);
    EXPECT_FALSE(found.agrees());
    EXPECT_EQ(found.element, 5);
  }
}

TEST(Numerics, NonFiniteNumbersMustBeThoseExpected) {
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat32);
  const std::vector<double> expected = {1, kNaN, kInf, -kInf};
  EXPECT_TRUE(compare_numbers(expected, expected, {}, row).agrees());
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<double> actual = expected;
    actual[i] = i == 0 ? kNaN : 1;
    EXPECT_FALSE(compare_numbers(actual, expected, {}, row).agrees()) << i;
  }
  // Beyond the range of a type: its rounded value is right as well.
  const Deviation found = compare_numbers(std::vector<double>{kInf, 1}, std::vector<double>{7e4, 1},
                                          std::vector<double>{kInf, 1}, row);
  EXPECT_TRUE(found.agrees());
  EXPECT_EQ(found.overflows, 1);
}

/// Tensors are read in parts: the worst element may be in any, and each infinity counts.
TEST(Numerics, SumsNearTheLargestNumberMayOverflow) {
  const auto agrees = [](DataType type, double actual, double expected) {
    Tensor a(type, {2}), e(type, {2});
    for (Tensor* tensor : {&a, &e}) tensor->set_from_double(0, 1);
    a.set_from_double(1, actual), e.set_from_double(1, expected);
    return compare_tensors(a, e, nullptr, tolerance(Computation::kKernel, type)).agrees();
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DataType type : {DataType::kFloat32, DataType::kBFloat16}) {
    EXPECT_TRUE(agrees(type, -kInfinity, -3.3e38));
    EXPECT_FALSE(agrees(type, kInfinity, -3.3e38)) << "the other sign";
    EXPECT_FALSE(agrees(type, -kInfinity, -1e38)) << "far from the largest";
    EXPECT_TRUE(agrees(type, 3.3e38, kInfinity)) << "the reference overflowed";
    EXPECT_FALSE(agrees(type, kNaN, 3.3e38));
  }
  EXPECT_TRUE(agrees(DataType::kFloat64, kInfinity, 1.7e308));
  EXPECT_FALSE(agrees(DataType::kFloat16, kInfinity, 6e4)) << "its sums are f32";
}

TEST(Numerics, TheWorstElementOfALargeTensor) {
  const std::vector<double> exact = numbers(3001);
  std::vector<double> actual = exact;
  const auto found = [&] {
    Tensor a(DataType::kFloat32, {3001}), e(DataType::kFloat32, {3001});
    for (int i = 0; i < 3001; ++i) a.set_from_double(i, actual[i]), e.set_from_double(i, exact[i]);
    return compare_tensors(a, e, nullptr, tolerance(Computation::kKernel, DataType::kFloat32));
  };
  EXPECT_EQ(found().element, -1);
  for (const auto& [element, error] : {std::pair(2000, 0.1), {40, 0.2}, {3000, 0.3}, {1030, 0.25}})
    actual[element] += error;
  EXPECT_EQ(found().element, 3000);
  EXPECT_EQ(found().overflows, 0);
  actual[7] = kNaN, actual[1500] = kInf, actual[2999] = -kInf;
  EXPECT_EQ(found().element, 7);
  EXPECT_EQ(found().overflows, 3);
}

TEST(Numerics, TensorsOfOtherExtentsNeverAgree) {
  Tensor a(DataType::kFloat32, {2}), b(DataType::kFloat32, {2, 1});
  for (int i = 0; i < 2; ++i) a.set_from_double(i, i), b.set_from_double(i, i);
  const Tolerance row = tolerance(Computation::kKernel, DataType::kFloat32);
  EXPECT_TRUE(compare_tensors(a, a, nullptr, row).agrees());
  EXPECT_FALSE(compare_tensors(a, b, nullptr, row).agrees());
}

}  // namespace
}  // namespace tenon
