#include "select/sequence_forecast.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "select/effort.h"

namespace tenon {
namespace {

constexpr int kReplays = effort::kSequenceReplays + effort::kWarmReplays;

std::vector<std::string> rivals(int count, const char* tactic = "tactic") {
  return std::vector<std::string>(static_cast<size_t>(count), tactic);
}

TEST(SequenceForecast, ReplaysCountAsOftenAsThereAreRivals) {
  SequenceForecast forecast;
  EXPECT_EQ(forecast.left(), 0);
  forecast.begin({{"a", 1}, {"b", 1}});
  EXPECT_GT(forecast.left(), 0);
  forecast.chosen("a", 1, rivals(3));
  forecast.chosen("b", 1, rivals(4));
  EXPECT_NEAR(forecast.left(), (1 + 3 + 4) * kReplays * 2, 0.1);
  forecast.began(1, kReplays * 2);
  EXPECT_NEAR(forecast.left(), (3 + 4) * kReplays * 2, 0.1);
  forecast.tried("a", 3, 3 * kReplays * 2);
  EXPECT_NEAR(forecast.left(), 4 * kReplays * 2, 0.1);
  forecast.ended();
  EXPECT_EQ(forecast.left(), 0);
}

/// Each layer of a problem gets a kernel of its own: twelve take longer than one.
TEST(SequenceForecast, KernelsOfAllLayersOfAProblemAreMade) {
  SequenceForecast forecast;
  forecast.begin({{"once", 1}, {"often", 12}, {"rest", 12}, {"other", 1}});
  for (const char* problem : {"once", "often", "rest", "other"})
    forecast.chosen(problem, 1e-6, rivals(2));
  forecast.began(1, 26 * 0.01);
  forecast.tried("once", 2, 2 * 0.01);
  forecast.tried("often", 2, 2 * 12 * 0.01);
  EXPECT_NEAR(forecast.left(), 2 * 13 * 0.01, 0.03);
}

/// A library makes a kernel as slowly as before.
TEST(SequenceForecast, TacticsHaveTheirPaces) {
  SequenceForecast forecast;
  forecast.begin({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}});
  for (const char* problem : {"a", "c"}) forecast.chosen(problem, 1e-6, rivals(4, "library"));
  for (const char* problem : {"b", "d"}) forecast.chosen(problem, 1e-6, rivals(4, "own"));
  forecast.began(1, 0.01);
  forecast.tried("a", 4, 4 * 0.5);
  forecast.tried("b", 4, 4 * 0.005);
  EXPECT_NEAR(forecast.left(), 4 * 0.505, 0.3);
  forecast.tried("c", 4, 4 * 0.5);
  EXPECT_NEAR(forecast.left(), 4 * 0.005, 0.02);
}

TEST(SequenceForecast, LayersThatTakeNoTimeAreNotTried) {
  SequenceForecast forecast;
  forecast.begin({{"small", 1}, {"large", 1}});
  forecast.chosen("small", 1e-6, rivals(4));
  forecast.chosen("large", 1, rivals(0));
  forecast.began(1, kReplays);
  EXPECT_LT(forecast.left(), 0.01);
}

/// Times that a cache knows are no paces.
TEST(SequenceForecast, EarlierBuildsAreRemembered) {
  PaceBook book;
  for (const bool is_cached : {false, true}) {
    SequenceForecast forecast;
    forecast.recall(book);
    forecast.begin({{"a", 10}, {"b", 10}});
    forecast.chosen("a", 1e-6, rivals(4));
    forecast.chosen("b", 1e-6, rivals(4));
    forecast.began(is_cached ? 0 : 1, is_cached ? 1e-4 : 20 * 0.01);
    for (const char* problem : {"a", "b"})
      forecast.tried(problem, is_cached ? 0 : 4, is_cached ? 1e-4 : 4 * 10 * 0.01);
    forecast.keep(book);
  }
  SequenceForecast forecast;
  forecast.recall(book);
  forecast.begin({{"c", 10}});
  // One sequence, then four rivals, as problems had before.
  EXPECT_NEAR(forecast.left(), 5 * 10 * 0.01, 0.1);
}

}  // namespace
}  // namespace tenon
