#include "select/build_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace tenon {
namespace {

using Step = BuildWatch::Step;

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// A step of which so many seconds are left, whenever it is asked.
void foresee(BuildWatch& watch, Step step, double seconds,
             BuildWatch::Span span = BuildWatch::Span::kWhole) {
  watch.foresee(step, span, [seconds](const BuildWatch::Known&) { return seconds; });
}

TEST(BuildWatch, TellsStepsInTheirOrderAndOnce) {
  std::vector<std::string> told;
  BuildWatch watch([&](Step step, double, const std::string& facts) {
    told.push_back(std::to_string(static_cast<int>(step)) + facts);
  });
  watch.begin(Step::kOptimize);
  watch.note(Step::kOptimize, " passes");
  watch.begin(Step::kChoose);
  watch.begin(Step::kCheck);
  watch.begin(Step::kOptimize);  // Again, without a kernel that was wrong.
  watch.begin(Step::kCheck);
  watch.finish();
  EXPECT_EQ(told, (std::vector<std::string>{"0 passes", "1", "2", "3", "4"}));
}

TEST(BuildWatch, RemainingIsUnknownBeforeAStepIsForeseen) {
  BuildWatch watch;
  watch.begin(Step::kOptimize);
  EXPECT_LT(watch.state().remaining, 0);
  foresee(watch, Step::kCheck, 2);
  EXPECT_LT(watch.state().remaining, 0);  // Candidates are not known yet.
  watch.announced();
  EXPECT_NEAR(watch.state().remaining, 2, 0.01);
}

/// Its choice takes as long as then, until candidates tell more.
TEST(BuildWatch, ANetworkThatWasBuiltBeforeIsForeseenFromTheStart) {
  const std::string file = testing::TempDir() + "/paces_of_networks";
  std::filesystem::remove(file);
  const auto begin = [&](BuildWatch& watch, int network) {
    watch.recall(file);
    watch.begin(Step::kOptimize);
    watch.is_of(network);
    foresee(watch, Step::kCheck, 2);
  };
  BuildWatch first;
  begin(first, 123456);
  first.begin(Step::kChoose);
  wait(0.2);
  first.finish();
  BuildWatch other, again;
  begin(other, 654321);
  EXPECT_LT(other.state().remaining, 0);
  begin(again, 123456);
  EXPECT_NEAR(again.state().remaining, 2.2, 0.1);
  again.announced();
  EXPECT_NEAR(again.state().remaining, 2, 0.01);
}

/// Until it was built in that precision.
TEST(BuildWatch, ANetworkInAnotherPrecisionTakesAsLong) {
  const auto file = std::filesystem::path(testing::TempDir()) / "watch_of_kin";
  std::filesystem::remove(file);
  const auto build = [&](int network, double seconds) {
    BuildWatch watch;
    watch.recall(file);
    watch.is_of(network, 100'000);
    watch.begin(Step::kChoose);
    wait(seconds);
    watch.finish();
  };
  const auto said = [&](int network, int kin) {
    BuildWatch watch;
    watch.recall(file);
    watch.begin(Step::kOptimize);
    watch.is_of(network, kin);
    foresee(watch, Step::kCheck, 2);
    return watch.state().remaining;
  };
  build(123'456, 0.3);
  EXPECT_NEAR(said(234'567, 100'000), 2.3, 0.1);
  EXPECT_LT(said(234'567, 100'001), 0);
  build(234'567, 0.1);
  EXPECT_NEAR(said(123'456, 100'000), 2.3, 0.1);
  EXPECT_NEAR(said(234'567, 100'000), 2.1, 0.1);
}

/// Kernels that are made several at a time, and layers in their sequence.
TEST(BuildWatch, ForecastsOfTrialsAndOfTheSequenceAreOfTheirSteps) {
  BuildWatch watch;
  watch.begin(Step::kChoose);
  watch.trials([](TrialForecast& trials, double now) {
    for (int i = 0; i < 8; ++i) trials.may_try("problem", "tactic");
    for (int i = 0; i < 8; ++i) trials.will_make("problem", "tactic");
    trials.made("tactic", {2, 2}, now + 2);
  });
  watch.sequence([](SequenceForecast& sequence) { sequence.begin({{"problem", {100, 1e-5}}}, 0); });
  const auto left_of = [&](Step step) { return watch.state().left[static_cast<size_t>(step)]; };
  EXPECT_GT(left_of(Step::kChoose), 1);
  const double sequence = left_of(Step::kSequence);
  EXPECT_GT(sequence, 0);
  watch.trials([](TrialForecast& trials, double) { trials.decided("problem"); });
  EXPECT_EQ(left_of(Step::kChoose), 0);
  wait(0.05);
  watch.begin(Step::kSequence);
  EXPECT_GT(left_of(Step::kSequence), 0);
  EXPECT_LT(left_of(Step::kSequence), sequence);
}

/// The network is taken over before the passes run.
TEST(BuildWatch, TheFirstStepBeginsWithIt) {
  BuildWatch watch;
  wait(0.1);
  watch.begin(Step::kOptimize);
  watch.begin(Step::kChoose);
  EXPECT_NEAR(watch.seconds(Step::kOptimize), watch.elapsed(), 0.01);
  EXPECT_EQ(watch.state().step, Step::kChoose);
}

/// Of a trial that is over its time, as long again is left.
TEST(BuildWatch, ATrialCountsDown) {
  BuildWatch watch;
  watch.begin(Step::kChoose);
  watch.kernels([](BuildForecast& kernels) {
    kernels.will_try("a", {1e9, 1e6, 1e6});
    kernels.trying("a", {1e9, 1e6, 1e6});
    kernels.launched(0.3, 3);
  });
  const auto left = [&] { return watch.state().left[static_cast<size_t>(Step::kChoose)]; };
  wait(0.2);
  EXPECT_NEAR(left(), 0.1, 0.05);
  wait(0.3);
  EXPECT_NEAR(left(), 0.2, 0.05);
}

TEST(BuildWatch, AStepThatTellsNothingCountsDown) {
  BuildWatch watch;
  watch.announced();
  foresee(watch, Step::kCheck, 1);
  EXPECT_NEAR(watch.state().remaining, 1, 0.01);
  watch.begin(Step::kCheck);
  wait(0.2);
  const BuildWatch::State state = watch.state();
  EXPECT_LT(state.remaining, 0.85);
  EXPECT_GT(state.remaining, 0.5);
  EXPECT_NEAR(state.done, 0.2, 0.1);
}

TEST(BuildWatch, AStepAheadIsForeseenFromTheKernelsSoFar) {
  BuildWatch watch;
  watch.announced();
  watch.begin(Step::kChoose);
  watch.foresee(Step::kChoose, BuildWatch::Span::kRest,
                [](const BuildWatch::Known& known) { return known.kernels.making_left(); });
  watch.kernels([](BuildForecast& kernels) {
    for (int i = 0; i < 1000; ++i) kernels.will_make({1e9, 1e6, 1e6});
  });
  watch.foresee(Step::kCheck, BuildWatch::Span::kWhole,
                [](const BuildWatch::Known& known) { return known.before / 2; });
  watch.kernels([](BuildForecast& kernels) { kernels.will_try("a", {1e9, 1e6, 1e6}); });
  const double guessed = watch.state().remaining;
  // Kernels take four times as long to be made as a first guess has it, and their weights need new
  // memory.
  watch.kernels([](BuildForecast& kernels) {
    kernels.tried("a", {1e9, 1e6, 1e6}, {0.0044, 0.4, 12, true});
    kernels.decided("a", {1e9, 1e6, 1e6});
  });
  EXPECT_NEAR(watch.state().remaining, 7.2, 0.6);
  EXPECT_NE(guessed, watch.state().remaining);
}

TEST(BuildWatch, BudgetsKeepTimeForTheCheck) {
  BuildWatch watch(nullptr, 30);
  EXPECT_TRUE(watch.has_budget());
  foresee(watch, Step::kCheck, 12);
  EXPECT_FALSE(watch.tuning_is_over());
  foresee(watch, Step::kWrite, 18);
  EXPECT_TRUE(watch.tuning_is_over());
  EXPECT_TRUE(watch.was_cut_short());
  EXPECT_FALSE(watch.has_no_time_to_check());
  foresee(watch, Step::kCheck, 20);  // More than half: it is not waited for.
  EXPECT_TRUE(watch.has_no_time_to_check());
  EXPECT_FALSE(BuildWatch().tuning_is_over());
}

TEST(BuildWatch, BudgetsAreOverInTime) {
  BuildWatch watch(nullptr, 0.02);
  wait(0.03);
  EXPECT_TRUE(watch.tuning_is_over());
}

/// The kernels that were chosen are made after the budget's tuning, and the plan is written.
TEST(BuildWatch, BudgetsKeepTimeForThePlan) {
  BuildWatch watch(nullptr, 10);
  watch.begin(Step::kChoose);
  EXPECT_FALSE(watch.tuning_is_over());
  foresee(watch, Step::kChoose, 6, BuildWatch::Span::kRest);
  EXPECT_FALSE(watch.tuning_is_over());
  foresee(watch, Step::kWrite, 5);
  EXPECT_TRUE(watch.tuning_is_over());
  EXPECT_NEAR(watch.left_to_check(), 5, 0.1);
}

TEST(BuildWatch, ACheckThatEndsTooLateIsLeftOut) {
  BuildWatch watch(nullptr, 1);
  foresee(watch, Step::kCheck, 0.45);
  foresee(watch, Step::kWrite, 0.3);
  EXPECT_FALSE(watch.has_no_time_to_check());
  foresee(watch, Step::kWrite, 0.8);
  EXPECT_TRUE(watch.has_no_time_to_check());
}

TEST(BuildWatch, OnlyTheStepThatRunsTakesTime) {
  BuildWatch watch;
  watch.begin(Step::kOptimize);
  watch.begin(Step::kChoose);
  const double before = watch.seconds(Step::kOptimize), chosen = watch.seconds(Step::kChoose);
  wait(0.02);
  EXPECT_EQ(watch.seconds(Step::kOptimize), before);
  EXPECT_EQ(watch.seconds(Step::kWrite), 0);
  EXPECT_GT(watch.seconds(Step::kChoose), chosen);
}

/// The check's reference, which is evaluated before kernels are tried.
TEST(BuildWatch, WorkAsideIsOfItsOwnStep) {
  std::vector<int> told;
  BuildWatch watch(
      [&](Step step, double, const std::string&) { told.push_back(static_cast<int>(step)); });
  const auto left_of = [&](Step step) { return watch.state().left[static_cast<size_t>(step)]; };
  watch.begin(Step::kOptimize);
  watch.begin(Step::kChoose);
  watch.kernels([](BuildForecast& kernels) { kernels.will_try("a", {1e9, 1e6, 1e6}); });
  foresee(watch, Step::kChoose, 3, BuildWatch::Span::kRest);
  const double trials = left_of(Step::kChoose);
  foresee(watch, Step::kCheck, 1);
  watch.begin_aside(Step::kCheck);
  wait(0.2);
  EXPECT_EQ(watch.state().step, Step::kCheck);
  EXPECT_NEAR(left_of(Step::kCheck), 0.8, 0.1);
  EXPECT_NEAR(left_of(Step::kChoose), trials, 0.01);
  watch.end_aside();
  EXPECT_EQ(watch.state().step, Step::kChoose);
  EXPECT_NEAR(left_of(Step::kChoose), trials, 0.05);
  EXPECT_NEAR(left_of(Step::kCheck), 1, 0.01);
  EXPECT_NEAR(watch.seconds(Step::kCheck), 0.2, 0.1);
  EXPECT_LT(watch.seconds(Step::kChoose), 0.1);
  EXPECT_EQ(told, (std::vector<int>{0}));
}

TEST(BuildWatch, TellsWhichStepsItsSumIsOf) {
  BuildWatch watch;
  watch.begin(Step::kChoose);
  foresee(watch, Step::kCheck, 2);
  foresee(watch, Step::kWrite, 1);
  const BuildWatch::State state = watch.state();
  EXPECT_NEAR(state.left[static_cast<size_t>(Step::kCheck)], 2, 0.01);
  EXPECT_NEAR(state.left[static_cast<size_t>(Step::kWrite)], 1, 0.01);
  EXPECT_EQ(state.left[static_cast<size_t>(Step::kOptimize)], 0);
}

}  // namespace
}  // namespace tenon
