#include "quantizer/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tenon {
namespace {

std::vector<float> normal_numbers(int count, float deviation) {
  std::mt19937 random(5);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = distribution(random);
  return numbers;
}

TEST(Histogram, OneLookOrSeveralGiveTheSameBins) {
  const std::vector<float> numbers = normal_numbers(5000, 3);
  Histogram whole, parts, joined;
  whole.add(numbers);
  for (size_t i = 0; i < numbers.size(); i += 500) {
    Histogram part;
    part.add(std::span(numbers).subspan(i, 500));
    parts.add(std::span(numbers).subspan(i, 500));
    joined.add(part);
  }
  EXPECT_EQ(parts.bins(), whole.bins());
  EXPECT_EQ(parts.largest(), whole.largest());
  EXPECT_EQ(joined.total(), 5000);
  EXPECT_EQ(joined.bins(), whole.bins());
}

TEST(Histogram, NumbersThatAreNotFiniteAreLeftOut) {
  const std::vector<float> numbers = {1, -2, std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN(), 0};
  Histogram histogram;
  histogram.add(numbers);
  EXPECT_EQ(histogram.left_out(), 2);
  EXPECT_EQ(histogram.total(), 3);
  EXPECT_EQ(histogram.largest(), 2);
}

TEST(Histogram, ATensorOfZerosHasTheRangeOne) {
  Histogram histogram;
  histogram.add(std::vector<float>(10, 0.0F));
  for (const RangeMethod method : {RangeMethod::kMax, RangeMethod::kEntropy, RangeMethod::kMse})
    EXPECT_EQ(range_of(histogram, method, DataType::kInt8, 1), 1);
}

/// One number far out must not decide the range, other than by kMax.
TEST(Ranges, OutliersAreClipped) {
  std::vector<float> numbers = normal_numbers(100000, 1);
  numbers.push_back(60);
  Histogram histogram;
  histogram.add(numbers);
  EXPECT_EQ(range_of(histogram, RangeMethod::kMax, DataType::kInt8, 1), 60);
  const auto between = [&](RangeMethod method, double low, double high) {
    const float range = range_of(histogram, method, DataType::kInt8, 0.9999);
    EXPECT_GT(range, low);
    EXPECT_LT(range, high);
  };
  between(RangeMethod::kEntropy, 2.5, 8);
  // Where 1e5 (r / 127)^2 / 12 + (60 - r)^2 is least.
  between(RangeMethod::kMse, 36, 43);
  between(RangeMethod::kPercentile, 3.5, 4.5);
}

TEST(Ranges, EvenlySpreadNumbersAreNotClipped) {
  std::vector<float> numbers;
  for (int i = 0; i < 100000; ++i) numbers.push_back(static_cast<float>(i) / 25000 - 2);
  Histogram histogram;
  histogram.add(numbers);
  for (const RangeMethod method : {RangeMethod::kEntropy, RangeMethod::kMse})
    EXPECT_GT(range_of(histogram, method, DataType::kInt8, 1), 1.9);
}

/// The share of the numbers' length that rounding and clipping to the range takes away.
double loss(const std::vector<float>& numbers, double range) {
  double difference = 0, size = 0;
  for (const float x : numbers) {
    const double scale = range / 127;
    const double d = std::clamp(std::nearbyint(x / scale), -127.0, 127.0) * scale - x;
    difference += d * d;
    size += static_cast<double>(x) * x;
  }
  return std::sqrt(difference / size);
}

/// Of so few numbers their divergence says nothing: no method may clip the large ones away.
TEST(Ranges, AHandfulOfNumbersIsNotClipped) {
  std::mt19937 random(7);
  std::exponential_distribution<float> distribution(1);
  for (const int count : {3, 8, 20, 50, 128, 500, 1000})
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<float> numbers(static_cast<size_t>(count));
      for (float& number : numbers)
        number = random() % 2 == 0 ? -distribution(random) : distribution(random);
      Histogram histogram;
      histogram.add(numbers);
      EXPECT_LT(loss(numbers, range_of(histogram, RangeMethod::kEntropy, DataType::kInt8, 1)), 0.03)
          << count << " numbers, draw " << draw;
    }
}

/// Of many they do: a long tail goes.
TEST(Ranges, ManyNumbersLoseTheirTail) {
  std::vector<float> numbers = normal_numbers(200000, 1);
  for (int i = 0; i < 20; ++i) numbers.push_back(static_cast<float>(20 + i));
  Histogram histogram;
  histogram.add(numbers);
  EXPECT_LT(range_of(histogram, RangeMethod::kEntropy, DataType::kInt8, 1), 10);
}

TEST(Ranges, MethodsHaveNames) {
  EXPECT_EQ(range_method_by_name("entropy"), RangeMethod::kEntropy);
  EXPECT_FALSE(range_method_by_name("best").has_value());
}

}  // namespace
}  // namespace tenon
