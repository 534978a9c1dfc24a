#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "select/pace_book.h"

namespace tenon {

/// How long candidates still take to be tried where kernels are made several at a time while others
/// are timed: from the times of earlier ones, and from how often problems went on to another round
/// of kernels. Four things may hold up the rest, and the longest counts: all kernels by the rate at
/// which they were made so far, those of a library by its own, since it makes one at a time, the
/// rounds of the problem that has the most of them, which follow each other, and the timing, which
/// is one by one. Seconds are real ones.
class TrialForecast {
 public:
  explicit TrialForecast(double makers = 1) : makers_(makers) {}

  /// Starts from earlier builds, and keeps the paces of this one.
  void recall(const PaceBook& book);
  void keep(PaceBook& book) const;

  /// A problem has one more candidate of a tactic, which may be tried.
  void may_try(const std::string& problem, const std::string& tactic, bool of_library = false);
  /// Whether the problem's candidates of a tactic wait for another problem (select/pilots.h): few
  /// of those are tried in the end, and none is foreseen.
  void hold(const std::string& problem, const std::string& tactic, bool held);
  /// Its kernel is to be made.
  void will_make(const std::string& problem, const std::string& tactic);
  /// Some thread begins to make one. `now`: seconds since the build began, as below.
  void makes(const std::string& tactic, double now);
  /// It has made one in so many seconds.
  void made(const std::string& tactic, double seconds, double now);
  /// It was timed in so many seconds.
  void tried(const std::string& problem, const std::string& tactic, double seconds, double now);
  /// The rest of the problem's candidates will not be tried.
  void decided(const std::string& problem);

  double left(double now) const;

 private:
  /// The sum of seconds, and of how many.
  struct Mean {
    double seconds = 0, count = 0;
    double or_else(double guess) const { return count > 0 ? seconds / count : guess; }
  };
  struct Tactic {
    Mean make, run;
    double squares = 0;         ///< The sum of those of seconds to make one.
    std::vector<double> begun;  ///< When those began that are being made.
    double asked = 0;           ///< Kernels to be made in this build, also the finished ones.
    Mean recalled_make, recalled_run;
    std::optional<double> since;  ///< The first that was made, less the time that it took.
    double last = 0;              ///< When the last one was made.
    bool of_library = false;
  };
  /// Candidates of one tactic.
  struct Open {
    double candidates = 0, made = 0, tried = 0;  ///< `made`: or to be made.
    bool held = false;
    double open() const { return held ? 0 : candidates - made; }
  };
  struct Problem {
    std::map<std::string, Open> tactics;
    size_t rounds = 0;  ///< That have begun.
    double waiting() const;
  };
  /// The n-th rounds of problems: how many there were, with how many kernels; how many have ended,
  /// and were followed by another.
  struct Round {
    double count = 0, kernels = 0, ended = 0, followed = 0;
  };
  static constexpr size_t kRounds = 6;
  struct Amounts {
    double make = 0, run = 0, longest = 0;  ///< Seconds; of makers that work side by side.
  };

  Round& round(size_t number) { return rounds_[std::min(number, kRounds) - 1]; }
  const Round& round(size_t number) const { return rounds_[std::min(number, kRounds) - 1]; }
  struct Chain;
  static void end(Tactic& tactic, double begun);
  double chance_behind(size_t rounds) const;
  double kernels_of(size_t round) const;
  double make_of(const Tactic& tactic, double now) const;
  double slowest_of(const Tactic& tactic, double kernels, double now) const;
  double run_of(const Tactic& tactic) const;
  Amounts amounts(double now) const;
  double makers_of(const Tactic& tactic, double usual) const;

  double makers_;  ///< Threads, before any kernel was made.
  std::map<std::string, Tactic> tactics_;
  Tactic all_;
  std::map<std::string, Problem> open_;
  std::array<Round, kRounds> rounds_;          ///< The last one stands for all behind it.
  double guessed_make_ = 0, guessed_run_ = 0;  ///< Of those made and timed, by earlier builds.
  double last_ = 0;                            ///< When the last one was made or timed.
};

}  // namespace tenon
