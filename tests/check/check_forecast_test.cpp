// The time that a check may take.
#include "check/check_forecast.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

/// Of a build of 30 seconds.
class CheckForecasts : public testing::Test {
 protected:
  CheckForecasts() { forecast.plain = PlainPace{1e-10, 1e-9, 1e-9}; }
  double seconds() const { return forecast.seconds(known); }

  BuildForecast kernels;
  BuildWatch::Known known{kernels, kernels.pace(), 1, 0, 30};
  CheckForecast forecast;
};

TEST(CheckForecast, RegionsGetTheRestOfAQuarterAndAPartAtLeast) {
  EXPECT_DOUBLE_EQ(CheckForecast::look_seconds(30, 4), 6);
  EXPECT_GT(CheckForecast::look_seconds(30, 100), 2);
  EXPECT_LT(CheckForecast::look_seconds(30, 100), 3);
  EXPECT_GE(CheckForecast::look_seconds(0, 1), 0.1);
}

/// A reference that was evaluated ahead is not waited for again; it counts for the check's share.
TEST_F(CheckForecasts, AReferenceAheadIsNotWaitedForAgain) {
  known.before = 32;
  forecast.costs = std::vector<NodeCost>(1000, {1e8, 0});
  forecast.plain = PlainPace{1e-10, 1e-9};
  forecast.reference_took = 2;
  const double waited = seconds();
  forecast.reference_ahead = 2;
  EXPECT_NEAR(waited - seconds(), 2 + 2.0 / 3, 0.2);
  EXPECT_NEAR(seconds(), 8, 0.2);
}

/// One region that takes longer than the look leaves the others their time.
TEST_F(CheckForecasts, CheapRegionsComeFirst) {
  forecast.costs = {{6e9, 0}, {4e9, 0}, {4e9, 0}};
  const double taken = seconds();
  EXPECT_GE(taken, 8);
  EXPECT_LT(taken, 10.5);
}

/// The processor's kernels take all cores for one: large regions follow one another.
TEST_F(CheckForecasts, LargeRegionsAreEvaluatedByKernels) {
  forecast.workers = 16;
  forecast.plain = PlainPace{1e-10, 2e-9, 1e-9};
  const double without = seconds();
  forecast.costs = std::vector<NodeCost>(4, {4e9, 0});
  EXPECT_NEAR(seconds(), without + 2, 0.1);
  forecast.large = 2e7;
  EXPECT_NEAR(seconds(), without + 1.6, 0.1);
}

/// Outputs that deviate, as most of earlier plans' did, are compared with rounded ones before
/// anything else.
TEST_F(CheckForecasts, RoundingMayBeEvaluatedWhateverTimeItTakes) {
  known.before = 3;
  forecast.reference_took = 0;
  forecast.evaluation_took = 1;
  forecast.evaluations = 2;
  const double without = seconds();
  forecast.rounds = true;
  EXPECT_NEAR(seconds(), without, 1e-9) << "as likely as not";
  kernels.compared_outputs(true);
  EXPECT_NEAR(seconds(), without + 1, 1e-9);
}

/// A reference that is evaluated beside the passes has got so far.
TEST_F(CheckForecasts, AReferenceUnderWayTakesTheRestOfItsTime) {
  known.before = 3;
  forecast.operations = 4e9;
  const double whole = seconds();
  forecast.reference_begun = 3;
  EXPECT_NEAR(seconds(), whole - 3, 1e-9);
  forecast.reference_begun = 8;
  EXPECT_NEAR(seconds(), whole - 2, 1e-9) << "overdue, and not over";
  forecast.reference_took = 8.5;
  EXPECT_NEAR(seconds(), whole - 3.5, 0.2);
}

TEST(CheckForecast, AWatchIsToldOfTheReference) {
  BuildWatch watch;
  watch.announced();
  CheckForecast forecast;
  forecast.plain = PlainPace{1e-10, 1e-9, 1e-9};
  forecast.operations = 4e9;
  const ReferenceObserver told = forecast.told_to(watch, true);
  EXPECT_NEAR(watch.state().remaining, 4, 0.3);
  told.left(2);
  EXPECT_NEAR(watch.state().remaining, 2, 0.3);
}

/// Each of these takes as long as the reference.
TEST_F(CheckForecasts, AllRegionsAreFollowedByEvaluations) {
  known.passes = 0.5, known.before = 3;
  forecast.reference_took = forecast.reference_ahead = forecast.evaluation_took = 2;
  forecast.all_regions = true;
  const double without = seconds();
  forecast.evaluations = 3;
  EXPECT_NEAR(seconds(), without + 6, 1e-9);
  const double evaluations = forecast.behind_all(kernels, *forecast.plain, 2, 0.5);
  EXPECT_NEAR(evaluations, 6.5, 0.01);
  // One keeps all values, and one compares them.
  forecast.bytes = 4e9;
  forecast.costs = {{0, 1e9}};
  EXPECT_NEAR(forecast.behind_all(kernels, *forecast.plain, 2, 0.5),
              evaluations + 1 + 4e9 * known.pace.byte, 0.01);
}

/// Where they take little of the time of the look at regions, and there alone, a 16-bit network is
/// evaluated again: in the rest of that time.
TEST_F(CheckForecasts, EvaluationsShareTheTimeOfTheLook) {
  forecast.costs = {{1e9, 0}};
  forecast.reference_took = forecast.reference_ahead = 2;
  const double without = seconds();
  forecast.evaluations = 1;
  EXPECT_NEAR(seconds(), without + 2, 1e-9);
  forecast.costs = std::vector<NodeCost>(100, {1e9, 0});
  const double full = seconds();
  forecast.evaluations = 0;
  EXPECT_NEAR(seconds(), full, 1.1);
  // Most of the time of the look would go to them.
  forecast.evaluations = 4;
  EXPECT_NEAR(seconds(), full, 1.1);
}

/// A reference that was ready when the build ended takes as long when it is evaluated again.
TEST_F(CheckForecasts, EvaluationsTakeTheReferencesOwnTime) {
  forecast.costs = {{1e9, 0}};
  forecast.beside_build = true;
  forecast.build = 30;
  forecast.reference_took = 0;
  const double without = seconds();
  forecast.evaluation_took = 2;
  forecast.evaluations = 2;
  EXPECT_NEAR(seconds(), without + 4, 1e-9);
}

/// Values in new memory, of the plan's run on the host's cores, are expected to take as long as
/// before.
TEST_F(CheckForecasts, ValuesAreKeptAsFastAsThoseOfEarlierPlans) {
  forecast.reference_took = forecast.evaluation_took = 1;
  forecast.kernels = 10;
  forecast.bytes = 4e8;
  forecast.narrow = 0.5;
  const double before = seconds();
  kernels.kept_values(10, 4e8, 2);
  EXPECT_NEAR(seconds(), before + 1 - 2e8 * known.pace.byte, 0.1);
}

/// All of a network's weights are rounded on the way, into new memory.
TEST_F(CheckForecasts, WeightsAreRounded) {
  forecast.reference_took = forecast.evaluation_took = 1;
  forecast.weights = 4e8;
  forecast.evaluations = 1;
  const double one = seconds();
  forecast.evaluations = 2;
  forecast.rounds = true;
  EXPECT_NEAR(seconds(), one + 1 + 4e8 * known.pace.byte, 1e-3);
}

/// Where that would take too long, it is left out with its evaluation.
TEST_F(CheckForecasts, RoundingCountsAmongEvaluations) {
  forecast.reference_took = forecast.reference_ahead = 0;
  forecast.evaluation_took = 3;
  const double without = seconds();
  forecast.evaluations = 1;
  forecast.rounds = true;
  EXPECT_NEAR(seconds(), without + 3, 1e-9);
  forecast.weights = 3 / known.pace.byte;
  EXPECT_NEAR(seconds(), without, 1e-9);
}

/// The evaluation of what the passes make comes with another run of them.
TEST(CheckForecast, PassesRunOnceMore) {
  const BuildForecast kernels;
  const MachinePace pace = kernels.pace();
  CheckForecast forecast;
  forecast.plain = PlainPace{1e-10, 1e-9, 1e-9};
  forecast.reference_took = forecast.evaluation_took = 1;
  const auto seconds = [&](double passes) {
    return forecast.seconds({kernels, pace, 1, passes, 30});
  };
  EXPECT_EQ(seconds(0.5), seconds(0));
  forecast.evaluations = 1;
  EXPECT_NEAR(seconds(0.5), seconds(0) + 0.5, 1e-9);
  forecast.rounds = true;  // The one evaluation; the passes' went on beside the build.
  EXPECT_EQ(seconds(0.5), seconds(0));
}

/// Another device is waited for where memory is moved.
TEST_F(CheckForecasts, AnotherDeviceRunsFast) {
  forecast.reference_took = 0;
  forecast.evaluation_took = 1;
  forecast.operations = 1e12;
  forecast.bytes = 1e9;
  const double here = seconds();
  forecast.beside_build = true;
  EXPECT_NEAR(seconds(), 1e9 * known.pace.byte, 1e-3);
  EXPECT_GT(here, 2 * seconds());
  forecast.narrow = 0.5;
  EXPECT_NEAR(seconds(), 0.5e9 * known.pace.byte, 1e-3);
}

/// As it did in earlier builds.
TEST(CheckForecast, AnotherDeviceRunsAtItsOwnPace) {
  BuildForecast kernels;
  CheckForecast forecast;
  forecast.plain = PlainPace{1e-10, 1e-9, 1e-9};
  forecast.reference_took = 0;
  forecast.beside_build = true;
  forecast.weights = forecast.bytes = 1e9;
  PaceBook book;
  kernels.ran_there(0, 1e9, 0.1);
  kernels.keep(book);
  BuildForecast later;
  later.recall(book);
  const BuildWatch::Known known{later, later.pace(), 1, 0, 30};
  EXPECT_NEAR(forecast.seconds(known), 0.2, 0.02);
}

TEST(CheckForecast, EvaluationsTakeHalfOfTheLookAtMost) {
  const auto half = CheckForecast::shares(10, 5), more = CheckForecast::shares(10, 5.1);
  EXPECT_TRUE(half.evaluates);
  EXPECT_DOUBLE_EQ(half.regions, 5);
  EXPECT_FALSE(more.evaluates);
  EXPECT_DOUBLE_EQ(more.regions, 10);
}

}  // namespace
}  // namespace tenon
