// Forecasts of a build from the kernels that were tried so far, on machines that are unlike the
// first guesses.
#include "select/build_forecast.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "select/effort.h"

namespace tenon {
namespace {

/// A machine whose launches and weights have rates of their own, and a tactic that is slow.
struct Machine {
  double operation, byte, weight_byte;

  double launch(const std::string& tactic, const KernelWork& work) const {
    const double fast = work.operations * operation + work.bytes * byte;
    return tactic == "slow" ? 4 * fast : fast;
  }
  BuildForecast::TrialTimes trial(const std::string& tactic, const KernelWork& work) const {
    const double make = 5e-5 + work.weights * weight_byte;
    const double once = launch(tactic, work);
    const bool is_given_up = tactic == "slow" && once * 1e3 > effort::kShortMilliseconds;
    const int launches =
        is_given_up ? 2 * effort::kFirstLaunches : effort::launches_of_trial(once * 1e3, 1);
    return {make, make + launches * once, launches, tactic == "fast"};
  }
};

std::vector<KernelWork> works(int count) {
  std::mt19937 random(7);
  std::vector<KernelWork> all;
  for (int i = 0; i < count; ++i) {
    const double weights = 1e4 * (1 + random() % 100);
    all.push_back({weights * (1 + random() % 2000), weights + 1e4 * (random() % 400), weights});
  }
  return all;
}

struct Half {
  double trials;   ///< The forecast at half time over the truth.
  double running;  ///< The same of a run of all preferred kernels.
};

Half at_half(const Machine& machine) {
  BuildForecast forecast;
  const std::vector<KernelWork> all = works(40);
  const char* const tactics[] = {"fast", "slow", "other"};
  for (const KernelWork& work : all) {
    forecast.will_make(work);
    for (const char* tactic : tactics) forecast.will_try(tactic, work);
  }
  double left = 0, run = 0;
  KernelWork sum;
  for (size_t i = 0; i < all.size(); ++i)
    for (const char* tactic : tactics) {
      const auto times = machine.trial(tactic, all[i]);
      if (i < all.size() / 2)
        forecast.tried(tactic, all[i], times);
      else
        left += times.all;
    }
  for (const KernelWork& work : all) {
    run += machine.launch("fast", work);
    sum.operations += work.operations;
    sum.bytes += work.bytes;
  }
  return {forecast.trials_left() / left, forecast.running(sum.operations, sum.bytes) / run};
}

TEST(BuildForecast, LearnsTheRatesOfTheMachine) {
  for (const Machine& machine : {Machine{5e-11, 1e-10, 1e-9}, Machine{5e-10, 1e-10, 1e-9},
                                 Machine{1e-11, 5e-10, 5e-9}, Machine{2e-12, 1e-11, 1e-10}}) {
    const Half half = at_half(machine);
    EXPECT_NEAR(half.trials, 1, 0.15) << machine.operation << " " << machine.byte;
    EXPECT_NEAR(half.running, 1, 0.15) << machine.operation << " " << machine.byte;
  }
}

/// Where short kernels were tried alone, a longer one must not be taken to run as often.
TEST(BuildForecast, LongKernelsRunLessOften) {
  BuildForecast forecast;
  for (int i = 1; i <= 8; ++i)
    forecast.tried("a", {1e6 * i, 0, 0}, {1e-6, 1e-6 + 27 * 1e-5 * i, 27, true});
  forecast.will_try("a", {1e10, 0, 0});
  EXPECT_NEAR(forecast.trials_left(), 0.1 * effort::launches_of_trial(100, 1), 0.1);
}

/// Other work on the machine lengthens all times, and no pace that is kept.
TEST(BuildForecast, LoadIsNoPace) {
  BuildForecast quiet, loaded;
  loaded.beside(3);
  for (int i = 1; i <= 4; ++i) {
    const KernelWork work{1e9 * i, 0, 1e6};
    quiet.tried("a", work, {1e-3, 1e-3 + 2 * 1e-2 * i, 2, true});
    loaded.tried("a", work, {3e-3, 3e-3 + 6 * 1e-2 * i, 2, true});
  }
  quiet.will_try("a", {5e9, 0, 1e6});
  loaded.will_try("a", {5e9, 0, 1e6});
  EXPECT_NEAR(loaded.trials_left(), 3 * quiet.trials_left(), 1e-9);
  EXPECT_NEAR(loaded.running(1e9, 0), 3 * quiet.running(1e9, 0), 1e-9);
  PaceBook book;
  loaded.keep(book);
  BuildForecast next, after_quiet;
  next.recall(book);
  quiet.keep(book);
  after_quiet.recall(book);
  for (BuildForecast* forecast : {&next, &after_quiet}) forecast->will_try("a", {5e9, 0, 1e6});
  EXPECT_NEAR(next.trials_left(), after_quiet.trials_left(), 1e-9);
}

/// Candidates far behind the best of their layer, tried or foreseen, are given up after their first
/// run.
/// A trial takes about so long, whatever else the machine does: it launches less often there.
TEST(BuildForecast, LoadedMachinesLaunchLessOften) {
  for (const double load : {1, 3}) {
    BuildForecast forecast;
    forecast.beside(load);
    for (int i = 1; i <= 8; ++i)
      forecast.tried("a", {1e9 * i, 0, 0}, {0, 9 * 1e-3 * load * i, 9, true});
    forecast.will_try("a", {4e9, 0, 0});
    const double launch = 4e-3 * load;
    EXPECT_NEAR(forecast.trials_left() / (launch * effort::launches_of_trial(1e3 * launch, 1)), 1,
                0.1);
  }
}

/// Convolutions of several windows take a tactic at several paces.
TEST(BuildForecast, FormsOfWorkAreToldApart) {
  const auto work = [](double operations, int form) {
    KernelWork one{operations, 0, 0, "conv"};
    one.form = form;
    return one;
  };
  BuildForecast earlier;
  for (int i = 1; i <= 8; ++i)
    for (const int form : {1, 2})
      earlier.tried("a", work(1e9 * i, form), {0, 5 * 1e-2 * i * form, 5, false});
  PaceBook book;
  earlier.keep(book);
  BuildForecast next;
  next.recall(book);
  for (BuildForecast* const forecast : {&earlier, &next}) {
    const auto left = [&](int form) {
      forecast->will_try("a", work(4.5e9, form));
      const double seconds = forecast->trials_left();
      forecast->left_out("a", work(4.5e9, form));
      return seconds;
    };
    EXPECT_NEAR(left(1), 5 * 0.045, 0.04);
    EXPECT_NEAR(left(2), 5 * 0.09, 0.08);
    EXPECT_GT(left(3), left(1));
    EXPECT_LT(left(3), left(2));
  }
}

TEST(BuildForecast, HopelessCandidatesAreGivenUp) {
  BuildForecast forecast;
  const int launches = effort::launches_of_trial(10, 1);
  for (int i = 0; i < 8; ++i) {
    forecast.tried("a", {1e9, 0, 0}, {1e-6, launches * 1e-2, launches, true});
    forecast.tried("b", {1e9, 0, 0}, {1e-6, 27 * 1e-3, 27, false});
  }
  const KernelWork tried{2e9, 0, 0}, open{3e9, 0, 0}, alone{1e9, 1, 0};
  forecast.tried("b", tried, {1e-6, 15 * 2e-3, 15, false});
  forecast.will_try("a", tried);
  EXPECT_NEAR(forecast.trials_left(), 2 * 2e-2, 0.01);
  forecast.will_try("a", open);
  const double before = forecast.trials_left();
  forecast.will_try("b", open);
  EXPECT_LT(forecast.trials_left(), before);
  forecast.left_out("a", tried);
  forecast.left_out("a", open);
  forecast.left_out("b", open);
  forecast.will_try("a", alone);
  EXPECT_NEAR(forecast.trials_left(), launches * 1e-2, 0.01);
}

/// Unless they are so far behind that nothing else can be the reason, they run once more.
TEST(BuildForecast, DoubtfulCandidatesRunOnceMore) {
  for (const double times : {3.9, 7.9, 8.1}) {
    BuildForecast forecast;
    const double best = 5e-3, slow = times * best;
    const KernelWork work{1e9, 0, 0};
    for (int i = 0; i < 8; ++i)
      forecast.tried("slow", {1e9, 1.0 + i, 0}, {1e-6, 4 * slow + 1e-6, 4, true});
    forecast.tried("best", work, {1e-6, 8 * best + 1e-6, 8, false});
    forecast.will_try("slow", work);
    const int launches = times < effort::kDoubtful ? 4 : 2;
    EXPECT_NEAR(forecast.trials_left(), launches * slow, 0.2 * launches * slow) << times;
  }
}

/// Noise lets some kernels be made faster than their trials had it, others slower: on average none
/// needs more time.
TEST(BuildForecast, NoiseIsNoNewMemory) {
  BuildForecast forecast;
  for (int i = 0; i < 20; ++i) {
    const KernelWork work{1e9 + i, 1e6, 1e6};
    forecast.will_make(work);
    forecast.tried("a", work, {0.01, 0.02, 5, true, 1e6});
    forecast.decided("a", work);
    forecast.made(work, 1e6, i % 2 == 0 ? 0.006 : 0.014);
  }
  const KernelWork next{2e9, 1e6, 1e6};
  forecast.will_make(next);
  forecast.tried("a", next, {0.01, 0.02, 5, true, 1e6});
  forecast.decided("a", next);
  EXPECT_NEAR(forecast.making_left(), 0.01, 1e-3);
}

/// Of a thousand trials of an earlier build the few long ones were given up; here they are not.
TEST(BuildForecast, EarlierTrialsWeighLittle) {
  BuildForecast earlier;
  for (int i = 0; i < 1000; ++i)
    if (i < 10)
      earlier.tried("a", {1e9, 0, 0}, {1e-6, 1e-6 + 2 * 1e-2, 2, false});
    else
      earlier.tried("a", {1e6, 0, 0}, {1e-6, 1e-6 + 27 * 1e-5, 27, false});
  PaceBook book;
  earlier.keep(book);
  BuildForecast forecast;
  forecast.recall(book);
  const int launches = effort::launches_of_trial(10, 1);
  for (int i = 0; i < 2; ++i)
    forecast.tried("a", {1e9, 0, 0}, {1e-6, 1e-6 + launches * 1e-2, launches, false});
  forecast.will_try("a", {1e9, 0, 0});
  EXPECT_NEAR(forecast.trials_left(), launches * 1e-2, launches * 2e-3);
}

/// Short and long kernels of a tactic that is far behind the best: the long ones alone are given
/// up.
TEST(BuildForecast, ShortKernelsAreNotGivenUp) {
  BuildForecast forecast;
  for (int i = 0; i < 8; ++i) {
    forecast.tried("a", {2e9, 0, 0}, {1e-6, 1e-6 + 2 * 2e-3, 2, false});
    forecast.tried("a", {2e8, 0, 0}, {1e-6, 1e-6 + 27 * 2e-4, 27, false});
  }
  for (const double operations : {4e9, 1e8})
    forecast.tried("best", {operations, 0, 0}, {1e-6, 27 * 1e-6, 27, true});
  forecast.will_try("a", {4e9, 0, 0});
  EXPECT_NEAR(forecast.trials_left(), 2 * 4e-3, 2e-3);
  forecast.will_try("a", {1e8, 0, 0});
  EXPECT_NEAR(forecast.trials_left(), 2 * 4e-3 + 27 * 1e-4, 2e-3);
}

/// A tactic that was not tried yet runs about as long as the preferred ones, however slow others
/// were.
TEST(BuildForecast, UnknownTacticsAreLikePreferredOnes) {
  BuildForecast forecast;
  for (int i = 0; i < 8; ++i) {
    forecast.tried("good", {1e9, 0, 0}, {1e-6, 0.5e-3 * 27, 27, true});
    forecast.tried("bad", {1e9, 0, 0}, {1e-6, 0.1, 2, false});
  }
  forecast.will_try("new", {1e9, 0, 0});
  EXPECT_LT(forecast.trials_left(), 0.03);
}

/// Convolutions that save multiplications say nothing of attention.
TEST(BuildForecast, UnknownTacticsFollowTheirKind) {
  BuildForecast forecast;
  const KernelWork convolution{1e9, 0, 0, "conv"}, attention{1e9, 8, 0, "attention"};
  const int of_short = effort::launches_of_trial(2, 1), of_long = effort::launches_of_trial(80, 1);
  for (int i = 0; i < 8; ++i) {
    forecast.tried("transforms", convolution, {1e-6, of_short * 2e-3, of_short, true});
    forecast.tried("columns", attention, {1e-6, of_long * 80e-3, of_long, true});
  }
  forecast.will_try("blocks", attention);
  EXPECT_NEAR(forecast.trials_left(), of_long * 80e-3, 0.3 * of_long * 80e-3);
}

/// Nor does attention of convolutions that were not tried yet.
TEST(BuildForecast, UnknownKindsFollowTheMachine) {
  BuildForecast forecast;
  const KernelWork convolution{1e9, 0, 0, "conv"};
  forecast.will_try("transforms", convolution);
  const double guessed = forecast.trials_left();
  for (int i = 0; i < 8; ++i)
    forecast.tried("columns", {1e9, 0, 0, "attention"}, {1e-6, 5 * 0.5, 5, true});
  EXPECT_LT(forecast.trials_left(), 2 * guessed);
}

/// The check's reference ran before any candidate.
TEST(BuildForecast, KernelsOfOtherPlansTellUntilCandidatesDo) {
  BuildForecast forecast;
  const KernelWork work{1e9, 0, 0, "conv"};
  for (int i = 0; i < 8; ++i) {
    forecast.made_other(work, 0, 1e-5);
    forecast.ran_other(work, 0.1);
  }
  EXPECT_NEAR(forecast.running(1e9, 0), 0.1, 0.01);
  forecast.will_try("a", work);
  EXPECT_NEAR(forecast.trials_left(), 5 * 0.1, 0.05);
  for (int i = 0; i < 8; ++i) forecast.tried("b", work, {1e-6, 5 * 0.03, 5, true});
  EXPECT_NEAR(forecast.trials_left(), 5 * 0.03, 0.02);
  forecast.will_make(work);
  EXPECT_NEAR(forecast.running(1e9, 0), 0.03, 0.003);
}

/// The fastest kernel that was tried for a layer will be the plan's; others of its kind and type
/// run as the usual ones.
TEST(BuildForecast, ThePlanRunsItsOwnLayers) {
  BuildForecast forecast;
  const KernelWork wide{1e9, 0, 0, "conv"}, narrow{1e9, 0, 0, "conv", DataType::kBFloat16};
  const KernelWork other{2e9, 0, 0, "conv", DataType::kBFloat16};
  forecast.tried("usual", wide, {1e-6, 5 * 0.1, 5, true});
  for (const KernelWork& work : {narrow, narrow, other}) forecast.will_make(work);
  forecast.tried("usual", narrow, {1e-6, 5 * 0.02, 5, true});
  forecast.tried("better", narrow, {1e-6, 5 * 0.01, 5});
  EXPECT_NEAR(forecast.running(1e10, 0), 2 * 0.01 + 2 * 0.02, 0.01);
}

/// Some tactics transform weights, others read them as they are: a layer's kernel is made as one of
/// its own candidates.
TEST(BuildForecast, KernelsAreMadeAsTheirCandidates) {
  const auto left = [](const std::string& tactic) {
    BuildForecast forecast;
    for (int i = 0; i < 8; ++i) {
      forecast.tried("transforms", {1e9, 0, 1e6, "conv"}, {1e-2, 1e-2 + 5e-3, 5, true});
      forecast.tried("reads", {1e9, 0, 1e6, "conv"}, {1e-5, 1e-5 + 5e-3, 5, false});
    }
    const KernelWork open{2e9, 0, 1e6, "conv"};
    forecast.will_make(open);
    forecast.will_try(tactic, open);
    return forecast.making_left();
  };
  EXPECT_GT(left("transforms"), 5 * left("reads"));
  EXPECT_NEAR(left("transforms"), 1e-2, 2e-3);
}

TEST(BuildForecast, WhetherOutputsDeviateIsRemembered) {
  PaceBook book;
  BuildForecast first, next;
  EXPECT_EQ(first.chance_to_deviate(), 0.5);
  first.compared_outputs(false);
  EXPECT_EQ(first.chance_to_deviate(), 0.25);
  first.keep(book);
  next.recall(book);
  EXPECT_EQ(next.chance_to_deviate(), 0.25);
  next.compared_outputs(true);
  EXPECT_GT(next.chance_to_deviate(), 0.5);
}

/// A tactic's kernels of 16 bits go at a pace of their own.
TEST(BuildForecast, TypesAreToldApart) {
  BuildForecast forecast;
  const KernelWork wide{1e9, 0, 4e6, "conv"};
  const KernelWork narrow{1e9, 0, 2e6, "conv", DataType::kBFloat16};
  for (int i = 0; i < 8; ++i) {
    forecast.tried("a", wide, {1e-6, 5 * 0.1, 5, true});
    forecast.tried("a", narrow, {1e-6, 27 * 1e-3, 27, true});
  }
  forecast.will_try("a", narrow);
  EXPECT_NEAR(forecast.trials_left(), 27e-3, 9e-3);
}

/// Weights that a wider reference reads as they are need no other form in 16 bits either.
TEST(BuildForecast, ReferencesOfAnotherTypeTellWhatIsKept) {
  BuildForecast forecast;
  const KernelWork table{1, 1e8, 1e8, "gather"};
  const KernelWork narrow{1, 5e7, 5e7, "gather", DataType::kBFloat16};
  forecast.will_make(narrow);
  const double all = forecast.making_left();
  forecast.made_other(table, 0, 4e-5);
  EXPECT_LT(forecast.making_left(), 0.1 * all);
}

TEST(BuildForecast, ATrialUnderWayFollowsItsFirstLaunches) {
  BuildForecast forecast;
  const KernelWork work{1e9, 0, 0};
  forecast.will_try("a", work);
  const double guessed = forecast.trials_left();
  EXPECT_FALSE(forecast.trial_left().has_value());
  forecast.trying("a", work);
  EXPECT_EQ(forecast.trials_left(), 0);
  EXPECT_DOUBLE_EQ(*forecast.trial_left(), guessed);
  forecast.launched(0.3, 3);
  EXPECT_DOUBLE_EQ(*forecast.trial_left(), 0.3);
  forecast.tried("a", work, {1e-6, 0.5, 5, true});
  EXPECT_FALSE(forecast.trial_left().has_value());
}

/// A machine on which more goes on between the launches of short kernels than in these.
struct Around {
  double cold = 4e-4, byte = 1e-10, bind = 1e-4;

  BuildForecast::TrialTimes trial(const KernelWork& work) const {
    const double once = work.operations * 1e-11;
    const int launches = effort::launches_of_trial(1e3 * once, 1, work.is_cold);
    const double around =
        work.is_cold ? launches * (cold + work.bytes * byte) : bind + work.bytes * byte;
    return {1e-6, 1e-6 + launches * once + around, launches, true, 0, around};
  }
  void tries(BuildForecast& forecast) const {
    for (int i = 1; i <= 8; ++i) {
      const KernelWork cold{2e6 * i, 1e6 * (9 - i), 1e5, {}, DataType::kFloat32, true};
      forecast.tried("a", cold, trial(cold));
      const KernelWork warm{2e6 * i, 1e6 * (9 - i), 0};
      forecast.tried("a", warm, trial(warm));
    }
  }
};

/// Neither long kernels nor those whose constants stay in the caches take as much around them.
TEST(BuildForecast, WhatGoesOnAroundLaunchesHasPacesOfItsOwn) {
  const Around machine;
  const KernelWork long_one{4e8, 1e6, 0}, warm{4e6, 2e6, 0};
  const KernelWork cold{4e6, 4e6, 1e5, {}, DataType::kFloat32, true};
  BuildForecast earlier;
  machine.tries(earlier);
  PaceBook book;
  earlier.keep(book);
  BuildForecast next;
  next.recall(book);
  for (const KernelWork& work : {long_one, warm, cold}) {
    BuildForecast forecast = earlier, behind = next;
    forecast.will_try("a", work);
    behind.will_try("a", work);
    const double takes = machine.trial(work).all;
    EXPECT_NEAR(forecast.trials_left(), takes, 0.2 * takes) << work.operations;
    EXPECT_NEAR(behind.trials_left(), takes, 0.3 * takes) << work.operations;
  }
}

TEST(BuildForecast, ColdLaunchesOfATrialUnderWayTakeWhatGoesOnAroundThem) {
  const Around machine;
  BuildForecast forecast;
  machine.tries(forecast);
  const KernelWork warm{4e6, 0, 0}, cold{4e6, 0, 1e5, {}, DataType::kFloat32, true};
  for (const KernelWork& work : {warm, cold}) {
    forecast.trying("a", work);
    forecast.launched(0.01, 9);
    EXPECT_NEAR(*forecast.trial_left(), work.is_cold ? 0.01 + 9 * machine.cold : 0.01, 1e-3);
  }
}

/// A plan that ran with all of its values tells of the next one.
TEST(BuildForecast, KeptValuesAndRoundingHavePacesOfTheirOwn) {
  BuildForecast earlier;
  EXPECT_NEAR(earlier.keeping_values(1, 1e9), 1e9 * earlier.pace().byte, 0.01);
  EXPECT_NEAR(earlier.rounding(1e9), 1e9 * earlier.pace().byte, 0.01);
  earlier.beside(2);
  earlier.kept_values(10, 5e8, 2);
  earlier.rounded(5e8, 4);
  EXPECT_NEAR(earlier.keeping_values(10, 1e9), 4, 0.1);
  PaceBook book;
  earlier.keep(book);
  BuildForecast forecast;
  forecast.recall(book);
  EXPECT_NEAR(forecast.keeping_values(10, 1e9), 2, 0.3);
  EXPECT_NEAR(forecast.rounding(1e9), 4, 0.6);
}

TEST(BuildForecast, KernelsThatAreMadeFollowTheirWeights) {
  BuildForecast forecast;
  for (int i = 1; i <= 5; ++i) forecast.made({1, 1, 1e6 * i}, 1e6 * i, 1e-3 + 4e-3 * i);
  EXPECT_NEAR(forecast.making(10, 1e8), 0.41, 0.05);
}

TEST(BuildForecast, NothingIsLeftWhereAllWasTriedOrLeftOut) {
  BuildForecast forecast;
  forecast.will_try("a", {1e6, 1e6, 0});
  forecast.will_try("b", {1e6, 1e6, 0});
  EXPECT_GT(forecast.trials_left(), 0);
  forecast.tried("a", {1e6, 1e6, 0}, {0.001, 0.01, 27, true});
  EXPECT_NEAR(forecast.trials_left(), 0.01, 0.003);
  forecast.left_out("b", {1e6, 1e6, 0});
  EXPECT_EQ(forecast.trials_left(), 0);
}

TEST(BuildForecast, PlansAreMadeAtThePaceOfTheirOwnTactics) {
  BuildForecast forecast;
  const KernelWork work{1e9, 1e6, 1e6};
  for (int i = 0; i < 10; ++i) forecast.will_make(work);
  forecast.tried("transforms", work, {0.5, 0.6, 12, true});
  forecast.tried("direct", work, {0.002, 0.1, 12, false});
  forecast.decided("direct", work);
  EXPECT_NEAR(forecast.making_left(), 0.02 + 1e7 * forecast.pace().byte, 0.002);
}

/// Trials of convolutions say nothing of a large product that nothing competes with.
TEST(BuildForecast, KernelsWithoutRivalsAreMadeAtTheUsualPace) {
  BuildForecast forecast;
  const KernelWork product{1e9, 1e8, 99e6};
  forecast.will_make(product);
  forecast.tried("transforms", {1e9, 1e6, 1e6}, {0.05, 0.1, 12, true});
  forecast.decided("transforms", {1e9, 1e6, 1e6});
  EXPECT_NEAR(forecast.making_left(), forecast.making(1, 99e6), 1e-3);
}

/// A table is read as it is, whatever its size.
TEST(BuildForecast, WeightsThatAreReadAsTheyAreTakeNoTime) {
  BuildForecast forecast;
  const KernelWork table{1, 1e8, 1e8, "gather"}, product{1e6, 1e6, 1e6, "matmul"};
  forecast.will_make(table);
  for (int i = 0; i < 10; ++i) forecast.will_make(product);
  const double products = 10 * forecast.making(1, 1e6);
  EXPECT_GT(forecast.making_left(), 5 * products);
  forecast.made_other(table, 0, 4e-5);
  forecast.made_other(product, 1e6, 1e-3);
  EXPECT_NEAR(forecast.making_left(), products, 0.1 * products);
  forecast.made(table, 0, 1e-5);
  EXPECT_NEAR(forecast.making_left(), products, 0.1 * products);
}

/// Convolutions transform their weights, products copy them.
TEST(BuildForecast, KindsOfKernelsAreMadeAtPacesOfTheirOwn) {
  BuildForecast forecast;
  const KernelWork slow{1e9, 1e6, 1e6, "conv"}, fast{1e9, 2e6, 1e6, "matmul"};
  const KernelWork other{1e9, 3e6, 1e6, "attention"};
  for (int i = 0; i < 10; ++i) {
    forecast.made(slow, 1e6, 0.01);
    forecast.made(fast, 1e6, 0.001);
  }
  const auto left = [&forecast](const KernelWork& work) {
    BuildForecast next = forecast;
    next.will_make(work);
    return next.making_left();
  };
  EXPECT_NEAR(left(slow), 0.01, 0.002);
  EXPECT_NEAR(left(fast), 0.001, 0.0005);
  EXPECT_NEAR(left(other), 0.0055, 0.001);
}

/// The first kernels that are made often keep no weights, and say nothing of kernels with weights.
TEST(BuildForecast, TablesSayNothingOfThePaceOfProducts) {
  BuildForecast forecast;
  const KernelWork table{1, 1e8, 1e8, "gather"}, product{1e6, 1e6, 1e6, "matmul"};
  forecast.will_make(table);
  for (int i = 0; i < 10; ++i) forecast.will_make(product);
  forecast.made(table, 0, 1e-5);
  const double products = 10 * forecast.making(1, 1e6);
  EXPECT_NEAR(forecast.making_left(), products, 0.1 * products);
}

/// Trials that ran in memory that was there say little of a plan's weights, which need new pages.
TEST(BuildForecast, KernelsThatWereMadeTellMoreThanTrials) {
  BuildForecast forecast;
  const KernelWork work{1e9, 1e6, 1e6};
  for (int i = 0; i < 100; ++i) forecast.will_make(work);
  forecast.tried("direct", work, {0.001, 0.1, 12, true});
  forecast.decided("direct", work);
  EXPECT_NEAR(forecast.making_left(), 0.1 + 1e8 * forecast.pace().byte, 0.01);
  for (int i = 0; i < 50; ++i) forecast.made(work, 1e6, 0.005);
  EXPECT_NEAR(forecast.making_left(), 0.25, 0.08);
}

/// A first kernel that takes as long as its trial says nothing against the other trials.
TEST(BuildForecast, KernelsAreMadeAsFastAsTheyWereTried) {
  BuildForecast forecast;
  const KernelWork work{1e9, 1e6, 1e6};
  for (int i = 0; i < 10; ++i) forecast.will_make(work);
  forecast.tried("direct", work, {0.2, 0.3, 12, true});
  forecast.decided("direct", work);
  forecast.made(work, 1e6, 0.2);
  EXPECT_NEAR(forecast.making_left(), 9 * 0.2, 0.1);
}

/// And the next build knows.
TEST(BuildForecast, EarlierPlansTellHowLongNewMemoryTakes) {
  const KernelWork work{1e9, 1e6, 1e6};
  const auto left = [&](const BuildForecast& earlier) {
    PaceBook book;
    earlier.keep(book);
    BuildForecast forecast;
    forecast.recall(book);
    for (int i = 0; i < 100; ++i) forecast.will_make(work);
    forecast.tried("direct", work, {0.001, 0.1, 12, true});
    forecast.decided("direct", work);
    return forecast.making_left();
  };
  BuildForecast earlier;
  EXPECT_NEAR(left(earlier), 0.1 + 1e8 * earlier.pace().byte, 0.01);
  for (int i = 0; i < 100; ++i) earlier.will_make(work);
  earlier.tried("direct", work, {0.001, 0.1, 12, true});
  earlier.decided("direct", work);
  for (int i = 0; i < 100; ++i) earlier.made(work, 1e6, 0.003);
  EXPECT_NEAR(left(earlier), 0.3, 0.05);
}

/// Transformed weights are larger: of kernels that were tried on average, then of the one that was
/// decided for.
TEST(BuildForecast, PlansHaveTheWeightsOfTheirKernels) {
  BuildForecast forecast;
  const KernelWork work{1e9, 1e6, 1e6};
  for (int i = 0; i < 2; ++i) forecast.will_make(work);
  EXPECT_EQ(forecast.packed_more(), 0);
  forecast.tried("transforms", work, {0.001, 0.1, 12, true, 4e6});
  forecast.tried("direct", work, {0.001, 0.1, 12, false, 1e6});
  EXPECT_NEAR(forecast.packed_more(), 3e6, 1);
  forecast.decided("transforms", work);
  EXPECT_NEAR(forecast.packed_more(), 6e6, 1);
}

/// A kernel that reads a table as it is needs no new memory for it, nor does that of the next
/// build.
TEST(BuildForecast, KernelsKeepAsMuchOfTheirWeightsAsOthersOfTheirKind) {
  const KernelWork table{1e6, 1e8, 1e8, "gather"}, product{1e9, 2e8, 1e8, "matmul"};
  BuildForecast earlier;
  for (const KernelWork& work : {table, product}) earlier.will_make(work);
  const double both = earlier.making_left();
  earlier.made(table, 0, 1e-5);
  earlier.made(product, 1e8, 0.1);
  PaceBook book;
  earlier.keep(book);
  BuildForecast forecast;
  forecast.recall(book);
  forecast.will_make(table);
  EXPECT_LT(forecast.making_left(), 0.01 * both);
  forecast.will_make(product);
  EXPECT_NEAR(forecast.making_left(), 0.1, 0.03);
}

TEST(BuildForecast, PlansAreWrittenAsFastAsEarlierOnes) {
  BuildForecast earlier;
  EXPECT_NEAR(earlier.writing(1e9), 1e9 * earlier.pace().byte, 0.01);
  earlier.wrote(5e8, 1);
  PaceBook book;
  earlier.keep(book);
  BuildForecast forecast;
  forecast.recall(book);
  EXPECT_NEAR(forecast.writing(1e9), 2, 0.3);
}

/// The machine had no memory at hand for one of them.
TEST(BuildForecast, ASlowPlanAmongFastOnesSaysLittleOfTheNext) {
  PaceBook book;
  for (const double seconds : {0.25, 0.25, 0.25, 0.25, 0.75}) {
    BuildForecast build;
    build.recall(book);
    build.wrote(5e8, seconds);
    build.keep(book);
  }
  BuildForecast next;
  next.recall(book);
  EXPECT_NEAR(next.writing(5e8), 0.28, 0.03);
}

TEST(MachinePace, IsThatOfSomeMachine) {
  const MachinePace pace = MachinePace::measured(1e6);
  EXPECT_GT(pace.step, 1e-10);
  EXPECT_LT(pace.step, 1e-6);
  EXPECT_GT(pace.byte, 1e-12);
  EXPECT_LT(pace.byte, 1e-7);
}

TEST(TwoRates, AreToldApartWhereTheyCanBe) {
  TwoRates rates(1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(rates.seconds(1e9, 0), 1);
  for (int i = 1; i <= 9; ++i) rates.add(1e8 * i, 1e8 * (10 - i), 0.5 * i + 0.02 * (10 - i));
  EXPECT_NEAR(rates.seconds(1e9, 0), 5, 0.5);
  EXPECT_LT(rates.seconds(0, 1e9), 0.8);
}

/// Where one seems to take less than no time, the other explains all.
TEST(TwoRates, AreNeverNegative) {
  TwoRates first(1e-9, 1e-9), second(1e-9, 1e-9);
  for (int i = 1; i <= 9; ++i) {
    const double seconds = 0.5 * i - 0.05 * (10 - i);
    first.add(1e8 * i, 1e8 * (10 - i), seconds);
    second.add(1e8 * (10 - i), 1e8 * i, seconds);
  }
  EXPECT_NEAR(first.seconds(1e9, 0), 5, 0.5);
  EXPECT_NEAR(second.seconds(0, 1e9), 5, 0.5);
  EXPECT_GT(first.seconds(0, 1e9), 0);
  EXPECT_GT(second.seconds(1e9, 0), 0);
}

/// One slow build does not outweigh those before it.
TEST(TwoRates, RememberEarlierBuildsToo) {
  std::vector<double> book;
  const auto next = [&book](double seconds) {
    TwoRates rates(1e-9, 1e-9);
    rates.recall(book);
    const double expected = rates.seconds(1e8, 1e8);
    rates.add(1e8, 1e8, seconds);
    book = rates.learned();
    return expected;
  };
  for (int i = 0; i < 5; ++i) next(1);
  EXPECT_NEAR(next(10), 1, 0.2);
  const double behind = next(1);
  EXPECT_GT(behind, 2);
  EXPECT_LT(behind, 5);
  for (int i = 0; i < 20; ++i) next(1);
  EXPECT_NEAR(next(1), 1, 0.2);
}

TEST(TwoRates, GoAtTheCommonPaceWhereTheyComeTogether) {
  TwoRates rates(1e-9, 1e-9);
  rates.add(1e8, 1e8, 1);
  EXPECT_NEAR(rates.seconds(1e8, 0), 0.5, 0.01);
  EXPECT_NEAR(rates.seconds(0, 1e8), 0.5, 0.01);
}

}  // namespace
}  // namespace tenon
