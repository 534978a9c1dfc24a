#include "runtime/step_boundaries.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tenon {
namespace {

/// A run of steps with known times, whose events each hold it up, on a clock that may change.
struct MadeUpRun {
  std::vector<double> steps;
  double event = 0.004;
  double clock = 1;

  std::vector<double> with_all_events() const {
    std::vector<double> times = steps;
    for (double& time : times) time += event;
    return times;
  }
  double ahead_of(size_t boundary) const {
    const auto end = steps.begin() + static_cast<std::ptrdiff_t>(boundary);
    return clock * std::accumulate(steps.begin(), end, 0.0);
  }
  void add_to(StepBoundaries& boundaries) const {
    const size_t inside = boundaries.next();
    const double whole = ahead_of(steps.size());
    boundaries.add(ahead_of(inside), inside == steps.size() ? whole : whole + clock * event);
  }
};

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Until it is the end's turn again; tells how many runs that took.
int meet_all(const MadeUpRun& run, StepBoundaries& boundaries) {
  int runs = 0;
  for (bool left = false; !left || boundaries.next() != run.steps.size(); ++runs) {
    left = left || boundaries.next() != run.steps.size();
    run.add_to(boundaries);
  }
  return runs;
}

const std::vector<double> kSteps{0.0012, 0.02, 0.003, 0.0011, 0.05, 0.0013, 0.007};

TEST(StepBoundaries, AreProportionsUntilARunEnded) {
  const StepBoundaries boundaries({1, 2, 3});
  EXPECT_EQ(boundaries.times(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(boundaries.next(), 3U);
}

TEST(StepBoundaries, AddUpToAWholeRunFromTheFirstOneOn) {
  const MadeUpRun run{kSteps};
  StepBoundaries boundaries(run.with_all_events());
  EXPECT_GT(sum(boundaries.times()), 1.3 * sum(kSteps));
  for (int i = 0; i < 70; ++i) {
    run.add_to(boundaries);
    EXPECT_NEAR(sum(boundaries.times()), sum(kSteps), 1e-9);
  }
}

TEST(StepBoundaries, AreExactOnceAllWereMet) {
  const MadeUpRun run{kSteps};
  StepBoundaries boundaries(run.with_all_events());
  EXPECT_EQ(meet_all(run, boundaries), 8 * 8);
  const std::vector<double> times = boundaries.times();
  for (size_t i = 0; i < kSteps.size(); ++i) EXPECT_NEAR(times[i], kSteps[i], 1e-9) << i;
}

TEST(StepBoundaries, FollowAClockThatChanges) {
  MadeUpRun run{kSteps};
  StepBoundaries boundaries(run.with_all_events());
  int runs = 0;
  for (; runs < 400; ++runs) {
    run.clock = 1 + 0.05 * static_cast<double>(runs % 40) / 40;
    run.add_to(boundaries);
  }
  const std::vector<double> times = boundaries.times();
  for (size_t i = 0; i < kSteps.size(); ++i) EXPECT_NEAR(times[i], kSteps[i], 0.1 * kSteps[i]);
}

TEST(StepBoundaries, AreNeverNegative) {
  const MadeUpRun run{{0.01, 0, 0, 0.01}};
  StepBoundaries boundaries(run.with_all_events());
  for (int i = 0; i < 100; ++i) {
    const size_t inside = boundaries.next();
    const double noise = i % 3 == 0 ? -0.002 : 0.001;
    boundaries.add(run.ahead_of(inside) + noise, 0.02 + (inside == 4 ? 0 : 0.004));
    for (double time : boundaries.times()) EXPECT_GE(time, 0);
  }
}

TEST(StepBoundaries, TakeARunWithoutSteps) {
  StepBoundaries boundaries({});
  for (int i = 0; i < 20; ++i) boundaries.add(0.002, 0.002);
  EXPECT_TRUE(boundaries.times().empty());
}

}  // namespace
}  // namespace tenon
