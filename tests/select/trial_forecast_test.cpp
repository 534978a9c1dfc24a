#include "select/trial_forecast.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
namespace {

/// So many candidates of one tactic for each problem.
void announce(TrialForecast& forecast, int problems, int candidates) {
  for (int p = 0; p < problems; ++p)
    for (int i = 0; i < candidates; ++i) forecast.may_try("p" + std::to_string(p), "tactic");
}

/// The problem's first candidates are made at once, then timed; the others are not needed.
void decide(TrialForecast& forecast, int problem, int needed, double make, double now) {
  const std::string name = "p" + std::to_string(problem);
  for (int i = 0; i < needed; ++i) forecast.will_make(name, "tactic");
  for (int i = 0; i < needed; ++i) forecast.made("tactic", {make, make}, now);
  for (int i = 0; i < needed; ++i) forecast.tried(name, "tactic", 1e-3, now);
  forecast.decided(name);
}

TEST(TrialForecast, CandidatesThatAreNeverNeededAreNotWaitedFor) {
  TrialForecast forecast;
  announce(forecast, 20, 20);
  // Two at a time, a second each: 5 of 20 candidates are needed.
  for (int p = 0; p < 10; ++p) decide(forecast, p, 5, 1, 2.5 * (p + 1));
  EXPECT_NEAR(forecast.by_work(25), 25, 3);
}

TEST(TrialForecast, TheRateIsThatOfAllThreads) {
  TrialForecast forecast;
  announce(forecast, 20, 4);
  // Eight at a time.
  for (int p = 0; p < 10; ++p) decide(forecast, p, 4, 1, 0.5 * (p + 1));
  EXPECT_NEAR(forecast.by_work(5), 5, 1.2);
}

/// Candidates that wait for another problem's winner are tried as often as those of such tactics
/// were so far.
TEST(TrialForecast, CandidatesThatWaitAreTriedAsOftenAsOthersWere) {
  const auto left = [](bool waits, bool tries) {
    TrialForecast forecast;
    announce(forecast, 20, 4);
    for (int p = 0; waits && p < 20; ++p) {
      const std::string name = "p" + std::to_string(p);
      for (int i = 0; i < 4; ++i) forecast.may_try(name, "planned");
      forecast.wait(name, "planned");
    }
    const int each = waits && tries ? 8 : 4;
    for (int p = 0; p < 10; ++p) {
      const std::string name = "p" + std::to_string(p);
      forecast.let_go(name, "planned", tries);
      for (int i = 4; i < each; ++i) {
        forecast.will_make(name, "planned");
        forecast.made("planned", {1, 1}, each * p + i - 3);
        forecast.tried(name, "planned", 1e-3, each * p + i - 3);
      }
      decide(forecast, p, 4, 1, each * (p + 1));
    }
    return forecast.by_work(10 * each);
  };
  EXPECT_NEAR(left(true, false), left(false, false), 3);
  EXPECT_GT(left(true, true), 1.5 * left(true, false));
}

/// All that wait for one problem are decided at once: that tells of one winner.
TEST(TrialForecast, ProblemsThatWaitForTheSameTellOfOneDecision) {
  const auto left = [](size_t at_once) {
    TrialForecast forecast;
    announce(forecast, 20, 4);
    for (int p = 0; p < 20; ++p) {
      const std::string name = "p" + std::to_string(p);
      for (int i = 0; i < 4; ++i) forecast.may_try(name, "planned");
      forecast.wait(name, "planned");
    }
    forecast.let_go("p0", "planned", true);
    for (int p = 1; p < 10; ++p)
      forecast.let_go("p" + std::to_string(p), "planned", false, at_once);
    for (int p = 0; p < 10; ++p) decide(forecast, p, 4, 1, 4 * (p + 1));
    return forecast.by_work(40);
  };
  EXPECT_GT(left(9), 1.1 * left(1));
}

/// The configurations of a tactic that was not fast enough are not waited for.
TEST(TrialForecast, TacticsThatDidNotGoOnHaveEnded) {
  const auto left = [](int others) {
    TrialForecast forecast;
    for (int i = 0; i < 20; ++i) forecast.may_try("p", "good");
    for (int i = 0; i < 1 + others; ++i) forecast.may_try("p", "bad");
    for (const char* tactic : {"good", "bad"}) forecast.will_make("p", tactic);
    for (const char* tactic : {"good", "bad"}) forecast.made(tactic, {1, 1}, 1);
    for (const char* tactic : {"good", "bad"}) forecast.tried("p", tactic, 1e-3, 1);
    forecast.will_make("p", "good");
    return forecast.by_work(1);
  };
  EXPECT_GT(left(0), 1);
  EXPECT_EQ(left(20), left(0));
}

/// Many threads are of no help to the rounds of the last problem.
TEST(TrialForecast, RoundsOfOneProblemFollowEachOther) {
  TrialForecast forecast(16);
  announce(forecast, 11, 5);
  for (int p = 0; p < 10; ++p) {
    const std::string name = "p" + std::to_string(p);
    for (const int kernels : {1, 2, 2}) {
      for (int i = 0; i < kernels; ++i) forecast.will_make(name, "tactic");
      for (int i = 0; i < kernels; ++i) forecast.made("tactic", {1, 1}, 1);
      for (int i = 0; i < kernels; ++i) forecast.tried(name, "tactic", 1e-3, 1);
    }
    forecast.decided(name);
  }
  forecast.will_make("p10", "tactic");
  forecast.makes("tactic", 1);
  EXPECT_NEAR(forecast.by_work(1), 3, 0.3);
  EXPECT_NEAR(forecast.by_work(1.5), 2.5, 0.3);
  // The first is timed, two more are made.
  forecast.made("tactic", {1, 1}, 2);
  forecast.tried("p10", "tactic", 1e-3, 2);
  for (int i = 0; i < 2; ++i) {
    forecast.will_make("p10", "tactic");
    forecast.makes("tactic", 2);
  }
  EXPECT_NEAR(forecast.by_work(2), 2, 0.3);
  for (int i = 0; i < 2; ++i) {
    forecast.made("tactic", {1, 1}, 3);
    forecast.tried("p10", "tactic", 1e-3, 3);
  }
  forecast.decided("p10");
  EXPECT_EQ(forecast.by_work(3), 0);
}

/// Rounds of one, one and eight kernels, of which a problem has had the first.
TEST(TrialForecast, RoundsToComeHaveTheirOwnNumbersOfKernels) {
  TrialForecast forecast(1);
  announce(forecast, 21, 10);
  double now = 0;
  const auto round = [&](int problem, int kernels) {
    const std::string name = "p" + std::to_string(problem);
    for (int i = 0; i < kernels; ++i) forecast.will_make(name, "tactic");
    for (int i = 0; i < kernels; ++i) forecast.made("tactic", {1, 1}, ++now);
    for (int i = 0; i < kernels; ++i) forecast.tried(name, "tactic", 1e-3, now);
  };
  for (int p = 0; p < 20; ++p) {
    for (const int kernels : {1, 1, 8}) round(p, kernels);
    forecast.decided("p" + std::to_string(p));
  }
  round(20, 1);
  EXPECT_NEAR(forecast.by_work(now), 9, 1);
}

/// A problem of four candidates has no third round, as others had.
TEST(TrialForecast, RoundsEndWithTheCandidates) {
  TrialForecast forecast(16);
  announce(forecast, 10, 9);
  for (int p = 0; p < 10; ++p) {
    const std::string name = "p" + std::to_string(p);
    for (const int kernels : {1, 4, 4}) {
      for (int i = 0; i < kernels; ++i) forecast.will_make(name, "tactic");
      for (int i = 0; i < kernels; ++i) forecast.made("tactic", {1, 1}, 1);
      for (int i = 0; i < kernels; ++i) forecast.tried(name, "tactic", 1e-3, 1);
    }
    forecast.decided(name);
  }
  for (int i = 0; i < 4; ++i) forecast.may_try("q", "tactic");
  forecast.will_make("q", "tactic");
  forecast.makes("tactic", 1);
  EXPECT_NEAR(forecast.by_work(1), 2, 0.3);
}

/// While there are many kernels, threads share the cores; the rounds of the last problem have them
/// to themselves.
TEST(TrialForecast, RoundsToComeTakeWhatKernelsTakeACore) {
  const auto left = [](double on_core) {
    TrialForecast forecast(16);
    announce(forecast, 21, 3);
    for (int p = 0; p < 21; ++p) {
      const std::string name = "p" + std::to_string(p);
      for (int i = 0; i < 3; ++i) {
        if (p == 20 && i == 2) break;
        forecast.will_make(name, "tactic");
        forecast.makes("tactic", 2 * i);
        forecast.made("tactic", {2, on_core}, 2 * (i + 1));
        forecast.tried(name, "tactic", 1e-3, 2 * (i + 1));
      }
      if (p < 20) forecast.decided(name);
    }
    return forecast.by_work(6);
  };
  EXPECT_NEAR(left(2), 2, 0.3);
  EXPECT_NEAR(left(1), 1, 0.2);
}

/// Of kernels that are being made for long, the quick ones that have ended tell nothing.
TEST(TrialForecast, SlowKernelsEndLast) {
  TrialForecast forecast(16);
  announce(forecast, 20, 1);
  for (int p = 0; p < 20; ++p) forecast.will_make("p" + std::to_string(p), "tactic");
  for (int p = 0; p < 20; ++p) forecast.makes("tactic", 0);
  for (int p = 0; p < 15; ++p) forecast.made("tactic", {0.1, 0.1}, 0.1);
  for (int p = 15; p < 18; ++p) forecast.made("tactic", {1.5, 1.5}, 1.5);
  EXPECT_GT(forecast.by_work(0.3), 0.5);
}

/// While a library makes one kernel at a time, most cores have nothing to do.
TEST(TrialForecast, TheRateIsThatOfTheLastSeconds) {
  TrialForecast forecast(4);
  announce(forecast, 60, 1);
  // Four at a time, then one at a time.
  for (int p = 0; p < 40; ++p) decide(forecast, p, 1, 1, 0.25 * (p + 4));
  for (int p = 40; p < 50; ++p) decide(forecast, p, 1, 1, p - 28);
  for (int p = 50; p < 60; ++p) forecast.will_make("p" + std::to_string(p), "tactic");
  EXPECT_NEAR(forecast.by_work(21), 10, 2.5);
}

/// Problems that got another round now and then are expected to go on, also from their last one.
TEST(TrialForecast, AProblemThatIsUnderWayMayGoOn) {
  TrialForecast forecast(16);
  announce(forecast, 21, 5);
  const auto round = [&](int problem) {
    const std::string name = "p" + std::to_string(problem);
    forecast.will_make(name, "tactic");
    forecast.made("tactic", {1, 1}, 1);
    forecast.tried(name, "tactic", 1e-3, 1);
  };
  for (int p = 0; p < 20; ++p) {
    for (int i = 0; i < 1 + p % 2; ++i) round(p);
    forecast.decided("p" + std::to_string(p));
  }
  forecast.will_make("p20", "tactic");
  forecast.makes("tactic", 1);
  const double one = forecast.by_work(1);
  EXPECT_NEAR(one, 1.5, 0.2);
  // The longer of two counts.
  for (int i = 0; i < 5; ++i) forecast.may_try("p21", "tactic");
  forecast.will_make("p21", "tactic");
  forecast.makes("tactic", 1);
  EXPECT_NEAR(forecast.by_work(1), 1.75, 0.2);
  EXPECT_GT(forecast.by_work(1), one);
}

/// Quick kernels end first: the others are known by the time that they have taken so far.
TEST(TrialForecast, KernelsUnderWayCountWhenTheyTakeLong) {
  TrialForecast forecast;
  announce(forecast, 20, 1);
  for (int p = 0; p < 20; ++p) {
    forecast.will_make("p" + std::to_string(p), "tactic");
    forecast.makes("tactic", 0);
  }
  for (int p = 0; p < 10; ++p) {
    forecast.made("tactic", {0.01, 0.01}, 0.01);
    forecast.tried("p" + std::to_string(p), "tactic", 1e-3, 0.01);
    forecast.decided("p" + std::to_string(p));
  }
  for (int i = 0; i < 20; ++i) forecast.may_try("q" + std::to_string(i), "tactic");
  const double early = forecast.by_work(0.01);
  EXPECT_GT(forecast.by_work(1), 5 * early);
}

TEST(TrialForecast, TimingIsOneByOne) {
  TrialForecast forecast;
  announce(forecast, 20, 10);
  for (int p = 0; p < 10; ++p) {
    const std::string name = "p" + std::to_string(p);
    for (int i = 0; i < 10; ++i) forecast.will_make(name, "tactic");
    for (int i = 0; i < 10; ++i) forecast.made("tactic", {0.01, 0.01}, 0.01);
    for (int i = 0; i < 10; ++i) forecast.tried(name, "tactic", 0.5, 0.5 * (10 * p + i + 1));
    forecast.decided(name);
  }
  EXPECT_NEAR(forecast.by_work(50), 50, 5);
}

/// Builds whose choices took so long, of so many problems each, one after the other.
PaceBook book_of(const std::vector<std::pair<int, double>>& builds) {
  PaceBook book;
  for (const auto& [problems, seconds] : builds) {
    TrialForecast forecast;
    forecast.recall(book);
    announce(forecast, problems, 1);
    for (int p = 0; p < problems; ++p) decide(forecast, p, 1, 0.1, seconds * (p + 1) / problems);
    forecast.keep(book);
  }
  return book;
}

/// Whatever their kernels were.
TEST(TrialForecast, EarlierBuildsTellHowLongAWholeChoiceTakes) {
  const PaceBook book = book_of({{20, 10}, {40, 20}, {20, 10}, {40, 20}, {20, 10}});
  TrialForecast forecast;
  forecast.recall(book);
  announce(forecast, 40, 1);
  EXPECT_NEAR(forecast.by_earlier_builds(0), 20, 7);
  EXPECT_NEAR(forecast.by_earlier_builds(10), 10, 5);
  // Longer than expected: some is left all the same.
  EXPECT_GT(forecast.by_earlier_builds(40), 1);
  EXPECT_LT(forecast.by_earlier_builds(40), 10);
}

/// Work that shows late is foreseen; where kernels lie in a cache, earlier builds tell little.
TEST(TrialForecast, EarlierBuildsCountAsMuchAsTheKnownWork) {
  const auto left = [book = book_of({{20, 10}, {20, 10}, {20, 10}})](double make) {
    TrialForecast forecast;
    forecast.recall(book);
    announce(forecast, 20, 1);
    for (int p = 0; p < 19; ++p) decide(forecast, p, 1, make, 5);
    const double work = forecast.by_work(5), both = forecast.left(5);
    EXPECT_GT(both, work);
    EXPECT_LT(both, forecast.by_earlier_builds(5));
    return both / work;
  };
  EXPECT_GT(left(0.1), 3);
  EXPECT_LT(left(1e-4), 1.3);
}

/// A first kernel of an engine is taken to be as those of its library, and those of an engine that
/// was seen as its own.
TEST(TrialForecast, EnginesOfATacticDiffer) {
  const auto left = [](const char* engine) {
    TrialForecast forecast;
    double now = 0;
    for (int p = 0; p < 20; ++p) {
      const std::string name = "p" + std::to_string(p);
      const std::string tactic = p % 2 == 0 ? "library/slow" : "library/fast";
      forecast.may_try(name, tactic);
      forecast.will_make(name, tactic);
      const double seconds = p % 2 == 0 ? 2 : 0.02;
      now += seconds;
      forecast.made(tactic, {seconds, seconds}, now);
      forecast.tried(name, tactic, 1e-3, now);
      forecast.decided(name);
    }
    forecast.may_try("q", engine);
    forecast.will_make("q", engine);
    return forecast.by_work(now);
  };
  EXPECT_LT(left("library/fast"), 0.3);
  EXPECT_NEAR(left("library/slow"), 2, 0.4);
  EXPECT_NEAR(left("library/new"), 1, 0.3);
}

/// Kernels that lie in a cache are made at once, whatever earlier builds took.
TEST(TrialForecast, EarlierBuildsTellHowTacticsDiffer) {
  const std::filesystem::path file = testing::TempDir() + "/paces_of_trials";
  PaceBook book;
  {
    TrialForecast forecast;
    for (const char* tactic : {"slow", "fast"}) {
      forecast.may_try("p", tactic);
      forecast.will_make("p", tactic);
      const double seconds = tactic[0] == 's' ? 4 : 1;
      forecast.made(tactic, {seconds, seconds}, 4);
      forecast.tried("p", tactic, 1e-3, 4);
    }
    forecast.decided("p");
    forecast.keep(book);
  }
  const auto left_behind_fast_ones = [&](double fast) {
    TrialForecast forecast;
    forecast.recall(book);
    for (int i = 0; i < 8; ++i) {
      const std::string name = "p" + std::to_string(i);
      forecast.may_try(name, "fast");
      forecast.will_make(name, "fast");
      forecast.made("fast", {fast, fast}, fast * (i + 1));
      forecast.tried(name, "fast", 1e-5, fast * (i + 1));
      forecast.decided(name);
    }
    forecast.may_try("q", "slow");
    forecast.will_make("q", "slow");
    return forecast.by_work(fast * 8);
  };
  EXPECT_NEAR(left_behind_fast_ones(1), 4, 0.3);
  EXPECT_LT(left_behind_fast_ones(0.01), 0.1);
}

}  // namespace
}  // namespace tenon
