#include "select/sequence_forecast.h"

#include <gtest/gtest.h>

#include "select/effort.h"

namespace tenon {
namespace {

/// Of sequences of seconds.
const double kReplays = effort::sequence_replays(1e3) + effort::kFirstReplays;

TEST(SequenceForecast, ReplaysCountAsOftenAsThereAreRivals) {
  SequenceForecast forecast;
  EXPECT_EQ(forecast.left(0), 0);
  forecast.begin({{"a", {1, 1e-5}}, {"b", {1, 1e-5}}}, 0);
  EXPECT_GT(forecast.left(0), 0);
  forecast.chosen("a", 1, 3);
  forecast.chosen("b", 1, 4);
  EXPECT_NEAR(forecast.left(0), (1 + 3 + 4) * kReplays * 2, 0.2);
  forecast.began({1, kReplays * 2, 2});
  EXPECT_NEAR(forecast.left(0), (3 + 4) * kReplays * 2, 0.1);
  // In sequence they are faster than alone.
  forecast.tried("a", {3, 3 * kReplays * 1.5, 1.5});
  EXPECT_NEAR(forecast.left(0), 4 * kReplays * 1.5, 0.1);
  forecast.ended();
  EXPECT_EQ(forecast.left(0), 0);
}

/// Each layer of a problem gets a kernel of its own: twelve take longer than one.
TEST(SequenceForecast, KernelsOfAllLayersOfAProblemAreMade) {
  SequenceForecast forecast;
  forecast.begin(
      {{"once", {1, 1e-5}}, {"often", {12, 1e-5}}, {"rest", {12, 1e-5}}, {"other", {1, 1e-5}}}, 0);
  for (const char* problem : {"once", "often", "rest", "other"}) forecast.chosen(problem, 1e-6, 2);
  forecast.began({1, 26 * 0.01, 26e-6});
  forecast.tried("once", {2, 2 * 0.01, 26e-6});
  forecast.tried("often", {2, 2 * 12 * 0.01, 26e-6});
  EXPECT_NEAR(forecast.left(0), 2 * 13 * 0.01, 0.03);
}

/// Layers of which nothing was timed take as long as they are expected to.
TEST(SequenceForecast, LayersWithoutATimeAreReplayedToo) {
  SequenceForecast forecast;
  forecast.begin({{"timed", {2, 1}}, {"alone", {2, 1}}}, 0);
  forecast.chosen("timed", 1, 3);
  forecast.chosen("alone", 0, 0);
  EXPECT_NEAR(forecast.left(0), (1 + 3) * kReplays * 4, 1);
}

TEST(SequenceForecast, LayersThatTakeNoTimeAreNotTried) {
  SequenceForecast forecast;
  forecast.begin({{"small", {1, 1e-5}}, {"large", {1, 1e-5}}}, 0);
  forecast.chosen("small", 1e-6, 4);
  forecast.chosen("large", 1, 0);
  forecast.began({1, kReplays, 1});
  EXPECT_LT(forecast.left(0), 0.01);
}

/// Times that a cache knows are no paces.
TEST(SequenceForecast, EarlierBuildsAreRemembered) {
  PaceBook book;
  for (const bool is_cached : {false, true}) {
    SequenceForecast forecast;
    forecast.recall(book);
    forecast.begin({{"a", {10, 1e-5}}, {"b", {10, 1e-5}}}, 0);
    forecast.chosen("a", 1e-6, 4);
    forecast.chosen("b", 1e-6, 4);
    forecast.began({is_cached ? 0 : 1, is_cached ? 1e-4 : 20 * 0.01, 2e-5});
    for (const char* problem : {"a", "b"})
      forecast.tried(problem, {is_cached ? 0 : 4, is_cached ? 1e-4 : 4 * 10 * 0.01, 2e-5});
    forecast.keep(book);
  }
  SequenceForecast forecast;
  forecast.recall(book);
  forecast.begin({{"c", {10, 1e-5}}}, 0);
  // One sequence, then four rivals, as problems had before.
  EXPECT_NEAR(forecast.left(0), 5 * 10 * 0.01, 0.1);
}

}  // namespace
}  // namespace tenon
