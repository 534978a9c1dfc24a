#include "tools/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tenon::tools {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Percentile, FollowsTheFormula) {
  const std::vector<double> ten = one_to(10);
  EXPECT_EQ(percentile(ten, 90), 9);   // 10 - 1 - floor(0.1 * 10) = 8
  EXPECT_EQ(percentile(ten, 95), 10);  // floor(0.5) = 0
  EXPECT_EQ(percentile(ten, 100), 10);
  EXPECT_EQ(percentile(ten, 50), 5);
  EXPECT_EQ(percentile(ten, 0), 1);  // the index is held at 0
}

TEST(Percentile, OfManyAndOfNone) {
  EXPECT_EQ(percentile(one_to(1000), 99), 990);
  EXPECT_EQ(percentile(one_to(1), 0), 1);
  EXPECT_EQ(percentile({}, 50), 0);
}

TEST(Median, OfEvenCountsIsTheMeanOfTwo) {
  EXPECT_EQ(median(one_to(3)), 2);
  EXPECT_EQ(median(one_to(4)), 2.5);
}

TEST(Summary, SortsAndMeasures) {
  const double asked[] = {90};
  const Summary summary = summarize({4, 2, 2, 4}, asked);
  EXPECT_EQ(summary.min, 2);
  EXPECT_EQ(summary.max, 4);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.percentiles[0], 4);
  EXPECT_NEAR(summary.coefficient_of_variation, 100.0 / 3, 1e-9);
}

TEST(QueryTimes, LatencyIsTransfersAndCompute) {
  QueryTimes query;
  query.end_h2d = 1;
  query.start_compute = 2;
  query.end_compute = 5;
  query.start_d2h = 6;
  query.end_d2h = 8;
  EXPECT_EQ(query.latency(), 1 + 3 + 2);
}

}  // namespace
}  // namespace tenon::tools
